"""The profile for hosts that try a revision without a handshake first, and lose something when that succeeds.

Such a host may never open a stream of changes, and so never hears that a list changed. It is served as what it becomes
after a refused `server/discover`: a client with a handshake.
"""

from dragoman.profile import Profile

PROFILE = Profile(name="dragoman-handshake", refuses_discover=True)
