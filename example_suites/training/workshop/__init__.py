"""Spokewright Cycles: parts, work and prices of a bicycle workshop."""
