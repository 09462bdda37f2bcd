"""The services behind the API: each checks the caller's request, and asks or hands over."""
