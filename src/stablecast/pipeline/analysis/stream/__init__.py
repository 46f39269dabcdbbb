"""The analysis of a trace while it is written: each part is folded into what earlier ones carried on."""
