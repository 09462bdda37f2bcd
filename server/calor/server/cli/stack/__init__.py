"""``calor stack``: its verbs, a module each or a few."""
