"""The five papers: experiments, theory, claims and readings, one package a paper."""
