"""Whom the agent talks to, and who answers a checker's questions."""
