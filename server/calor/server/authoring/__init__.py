"""Tools for who writes templates, without a server: checks, graphs, a JSON Schema, a language server."""
