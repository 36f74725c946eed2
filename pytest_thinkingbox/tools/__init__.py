"""The tools of an attempt: MCP sessions in process, over pipes and over HTTP, as one catalogue."""
