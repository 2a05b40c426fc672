"""The shipped profiles, and those that users write."""

import dataclasses

import pytest
from msgspec import Raw

from dragoman.profile import NAMES, SUMMARIES, Profile, named
from dragoman.profile.masks import ClientMask, ServerMask
from dragoman.profile.own import from_toml
from dragoman.revisions import LATEST_LEGACY
from dragoman.revisions.plan import Policy
from dragoman.wire.members import closed, opened
from support.proofs import proves


def shipped(name: str) -> Profile:
    profile = named(name)
    assert profile is not None
    return profile


@proves("PROF-04", "PROF-11")
def test_the_neutral_profile_repairs_and_pins_nothing() -> None:
    profile = shipped("neutral")
    assert profile.name == "dragoman"
    assert profile.reply_revision is None
    assert profile.progress_rate is None
    assert not any(dataclasses.astuple(profile.quirks))
    assert profile.passthrough.passes("com.example/any")
    policy = profile.policy()
    assert policy == Policy()


@proves("PROF-04", "PROF-05", "PROF-06", "PROF-10")
def test_the_editor_s_profile_holds_its_rules() -> None:
    profile = shipped("vscode")
    assert profile.name == "dragoman-vscode"
    assert profile.reply_revision is LATEST_LEGACY
    assert LATEST_LEGACY.name == "2025-11-25"
    assert profile.request_id_prefix == "b-"
    assert profile.quirks.normalize_array_items
    assert profile.quirks.drop_non_object_output_schema
    assert not profile.quirks.strict_legacy_results
    assert profile.policy().keep_structure
    assert profile.progress_rate == 50


@proves("PROF-02")
def test_profiles_are_frozen_and_found_by_name() -> None:
    for name in NAMES:
        assert named(name) is named(name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            shipped(name).name = "other"  # pyright: ignore[reportAttributeAccessIssue]
        assert SUMMARIES[name]
    assert named("VSCODE") is None


DECLARED = (
    b'{"sampling":{"tools":{}},"elicitation":{"form":{}},"roots":{},"experimental":{"a":{}},"extensions":{"b":{}}}'
)
PROMISED = (
    b'{"tools":{"listChanged":true},"prompts":{ "listChanged" : true, "x":1.0},'
    b'"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{}}'
)


@proves("PROF-12")
@pytest.mark.parametrize("hidden", ["sampling", "elicitation", "roots", "experimental", "extensions"])
def test_a_client_mask_hides_just_what_it_names(hidden: str) -> None:
    masked = Profile("test", client_mask=ClientMask(**{hidden: False})).mask_client(opened(DECLARED))
    assert list(masked) == [name for name in opened(DECLARED) if name != hidden]


@proves("PROF-12")
@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (ServerMask(), PROMISED),
        (ServerMask(logging=False), PROMISED.replace(b'"logging":{},', b"")),
        (ServerMask(subscribe=False), PROMISED.replace(b'"subscribe":true,', b"")),
        (
            ServerMask(list_changes=False),
            b'{"tools":{},"prompts":{"x":1.0},"resources":{"subscribe":true},"logging":{},"completions":{}}',
        ),
    ],
)
def test_a_server_mask_hides_just_what_it_names(mask: ServerMask, expected: bytes) -> None:
    profile = Profile("test", server_mask=mask)
    assert bytes(closed(profile.mask_server(opened(PROMISED)))) == expected


@proves("PROF-12")
def test_masks_keep_everything_by_default_and_change_no_argument() -> None:
    given = opened(PROMISED)
    assert Profile("test").mask_server(given) == given
    Profile("test", server_mask=ServerMask(False, False, False)).mask_server(given)
    assert given == opened(PROMISED)
    assert Profile("test").mask_client(opened(DECLARED)) == opened(DECLARED)
    strange = {"tools": Raw(b"7")}
    assert Profile("test", server_mask=ServerMask(list_changes=False)).mask_server(strange) == strange


@proves("PROF-11")
def test_a_user_s_profile_starts_from_the_neutral_one() -> None:
    assert from_toml("") == named("neutral")


@proves("PROF-07", "PROF-10", "PROF-11")
def test_a_user_s_profile_changes_what_it_says() -> None:
    profile = from_toml(
        """
        base = "vscode"
        name = "mine"
        reply_revision = "2025-06-18"
        request_id_prefix = "q."
        progress_rate = 0
        keep_structure = false
        allow_downgrade = true
        [meta_passthrough]
        keys = ["baggage"]
        prefixes = ["com.example/"]
        [quirks]
        strict_legacy_results = true
        [client_capabilities]
        roots = false
        [server_capabilities]
        logging = false
        """
    )
    assert (profile.name, profile.request_id_prefix, profile.progress_rate) == ("mine", "q.", None)
    assert profile.reply_revision is not None
    assert profile.reply_revision.name == "2025-06-18"
    assert profile.quirks == dataclasses.replace(shipped("vscode").quirks, strict_legacy_results=True)
    assert profile.policy().strict
    assert profile.policy().allow_downgrade
    assert not profile.policy().allow_reencode
    assert not profile.policy().keep_structure
    assert profile.passthrough.passes("baggage")
    assert profile.passthrough.passes("com.example/x")
    assert not profile.passthrough.passes("traceparent")
    assert profile.client_mask == ClientMask(roots=False)
    assert profile.server_mask == ServerMask(logging=False)


@pytest.mark.parametrize(
    ("text", "named_in_message"),
    [
        ("nme = 1", '"nme"'),
        ("name = 1", '"name"'),
        ('name = ""', '"name"'),
        ("request_id_prefix = 'b\"'", '"request_id_prefix"'),
        ('base = "emacs"', '"base"'),
        ('reply_revision = "2026-07-28"', '"reply_revision"'),
        ("reply_revision = 2025-11-25", '"reply_revision"'),
        ("progress_rate = -1", '"progress_rate"'),
        ("progress_rate = true", '"progress_rate"'),
        ("keep_structure = 1", '"keep_structure"'),
        ("quirks = true", '"quirks"'),
        ("quirks.fast = true", '"quirks.fast"'),
        ('quirks.strict_legacy_results = "yes"', '"quirks.strict_legacy_results"'),
        ("client_capabilities.tasks = false", '"client_capabilities.tasks"'),
        ("server_capabilities.logging = 0", '"server_capabilities.logging"'),
        ('meta_passthrough.keys = "a"', '"meta_passthrough.keys"'),
        ('meta_passthrough.prefixes = [""]', '"meta_passthrough.prefixes"'),
        ("meta_passthrough.everything = 1", '"meta_passthrough.everything"'),
        ("meta_passthrough.some = 1", '"meta_passthrough.some"'),
        ("name = ", "TOML"),
    ],
)
def test_a_bad_key_is_named_in_a_sentence(text: str, named_in_message: str) -> None:
    with pytest.raises(ValueError, match=r"^The profile .*\.$") as raised:
        from_toml(text)
    assert named_in_message in str(raised.value)
