"""The profile of no product: it translates, and repairs nothing."""

from dragoman.profile import Profile

PROFILE = Profile(name="dragoman")
