"""``calor dev`` and its parts: the directory that it owns, its processes, looking into it."""
