"""A campaign as one HTML file that needs nothing else: no network, no server, no second file."""
