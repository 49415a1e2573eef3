"""Files: written atomically, sealed with a checksum, or on a remote file system."""
