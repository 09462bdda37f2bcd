"""The one door to a cloud: openstacksdk behind an async interface, with retries, throttling and watches."""
