"""What file managers do with a folder and everything below it: names that may say something of it, attributes, extended attributes, and
the beginning of each file for its type and thumbnail. Errors are passed over, as they do."""
import os, sys

for folder, _, files in os.walk(sys.argv[1]):
    for name in [".directory", ".hidden", ".git", ".hg", ".svn", ".Trash-0", ".DS_Store", "desktop.ini", "Thumbs.db", "cover.jpg"]:
        os.path.exists(os.path.join(folder, name))
    for path in [folder, *(os.path.join(folder, name) for name in files)]:
        for look in (os.lstat, os.stat, os.statvfs, os.listxattr, lambda path: os.getxattr(path, "user.xdg.origin.url")):
            try:
                look(path)
            except OSError:
                pass
    for name in files:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                file.read(4096)
        except OSError:
            pass
