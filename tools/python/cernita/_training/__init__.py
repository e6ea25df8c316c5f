"""Judgements for the training of the next CNN."""
