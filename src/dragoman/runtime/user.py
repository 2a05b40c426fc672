"""The user behind the client of a conversation, who signs in to its server (OAUTH-12 to OAUTH-15, LIFE-23).

Until the client has said that it is ready, its user has just started it and is at hand. After that the user is asked
through the client, if the client can show a page. For a client without a handshake that is when its first request has
opened the server; when nothing has to be opened, its user is at hand for one sign-in.
"""

import asyncio
from typing import TYPE_CHECKING

from dragoman.exchange.events import Inquiry
from dragoman.signin.person import Consent

if TYPE_CHECKING:
    from dragoman.runtime.conversation import Conversation


class User:
    """The `Person` of `dragoman.signin` for a client on our own streams."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._was_at_hand = False
        self._page: Inquiry | None = None
        self._has_opened = False

    def is_at_hand(self) -> bool:
        mediator = self._conversation.mediator
        return not mediator.is_settled if mediator.has_handshake else not self._was_at_hand

    def can_be_asked(self) -> bool:
        return self._conversation.mediator.shows_pages

    async def asked(self, url: str, message: str) -> Consent:
        inquiries = self._conversation.mediator.inquiries
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def told(action: str | None) -> None:
            self._has_opened = action == "accept"
            if not answer.done():
                answer.set_result(self._has_opened)

        def show(now: float) -> None:
            self._page = inquiries.show(url, message, told, now)

        if not self.can_be_asked():
            return Consent.NOBODY
        self._has_opened = False
        self._conversation.step(show)
        return Consent.OPENED if await answer else Consent.DECLINED

    def waits(self, seconds: float) -> None:
        back = self._conversation.back
        self._conversation.step(lambda now: back.held(seconds, now))

    def goes_on(self) -> None:
        back = self._conversation.back
        self._conversation.step(back.resumed)

    def waits_no_more(self, signed_in: bool) -> None:
        self._was_at_hand = True
        page, self._page = self._page, None

        def over(now: float) -> None:
            self._conversation.back.released(signed_in, now)
            if page is not None:
                self._conversation.mediator.page_over(page, self._has_opened, now)

        self._conversation.step(over)
