"""From a request or a stored row to a blueprint: a model that is checked and ready to be worked towards."""
