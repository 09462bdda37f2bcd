"""Images of the dev cloud: trees of files that sandboxes boot from, made of Debian packages.

Public: `Image`, `ImageError`, `cache_dir`, `built`, `find`; the makers are `host.ensure_host` and
`debian.build_debian`.
"""

from calor.server.devcloud.images.catalog import Image, ImageError, built, cache_dir, find

__all__ = ["Image", "ImageError", "built", "cache_dir", "find"]
