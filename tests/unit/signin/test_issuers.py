"""Settings for single authorization servers: whom they are for, and what they change."""

import pytest

from dragoman.signin.authorize import check_proof_keys
from dragoman.signin.failure import Failed
from dragoman.signin.issuers import IssuerSettings, Unusable, settings_in, settings_of
from dragoman.signin.metadata import Issuer

OWN = """
[ours]
issuers = ["https://as.example/*/v2"]
resource = "api://x"

[also-ours]
issuers = ["https://login.microsoftonline.com/t/v2.0"]
"""


@pytest.mark.parametrize(
    ("issuer", "name"),
    [
        ("https://login.microsoftonline.com/11111111-2222/v2.0", "entra"),
        ("https://login.microsoftonline.com/11111111-2222/v2.0/", "entra"),
        ("https://sts.windows.net/11111111-2222/", "entra"),
        ("https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_x", "cognito"),
        ("https://login.microsoftonline.com.evil.example/t/v2.0", ""),
        ("https://login.microsoftonline.com/a/b/v2.0", ""),
        ("https://evil.example/https://sts.windows.net/t", ""),
        ("https://as.example/t/v2", "ours"),
        ("https://login.microsoftonline.com/t/v2.0", "also-ours"),
    ],
)
def test_settings_are_for_the_issuers_that_they_name_and_the_user_s_come_first(issuer: str, name: str) -> None:
    """D4"""
    assert settings_of(issuer, settings_in(OWN)).name == name


def test_what_settings_change() -> None:
    """D4"""
    entra = settings_of("https://login.microsoftonline.com/t/v2.0", ())
    assert (entra.resource_for("https://s"), entra.assumes_pkce) == (None, True)
    (ours, _) = settings_in(OWN)
    assert (ours.resource_for("https://s"), ours.resource_for(None), ours.assumes_pkce) == ("api://x", "api://x", False)
    assert IssuerSettings().resource_for("https://s") == "https://s"


@pytest.mark.parametrize(
    "text",
    [
        *("[", "a = 1", "[a]", "[a]\nissuers = []", "[a]\nissuers = 1", "[a]\nissuers = ['x']\nother = 1"),
        *("[a]\nissuers = ['x']\nresource = 'no uri'", "[a]\nissuers = ['x']\nassume-pkce = 'yes'"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Unusable):
        settings_in(text)


def test_a_document_that_says_nothing_of_pkce_may_be_trusted_and_one_that_denies_it_may_not() -> None:
    """D4"""

    def of(*methods: str, is_silent: bool = False) -> Issuer:
        return Issuer("https://as", "https://as/t", code_challenge_methods_supported=None if is_silent else methods)

    check_proof_keys(of("S256"), True)
    check_proof_keys(of(is_silent=True), True, True)
    for issuer, is_assumed in ((of(is_silent=True), False), (of("plain"), True), (of(), True)):
        with pytest.raises(Failed, match="PKCE"):
            check_proof_keys(issuer, True, is_assumed)
