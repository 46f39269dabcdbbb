"""The papers' evaluations, one package a paper."""
