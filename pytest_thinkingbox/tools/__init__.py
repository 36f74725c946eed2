"""MCP sessions of one attempt and the catalogue of tools that they offer."""
