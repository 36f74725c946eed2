"""Whom the agent talks to."""
