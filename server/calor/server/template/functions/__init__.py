"""The functions of the template languages, one small class each; `versions` says which version knows which."""
