"""What the demo's server offers: a small restaurant whose tools show what revision 2026-07-28 can do.

A tool that needs something of its caller returns `request.ask(…)`; it is called again, from its beginning, with the
answers in `request.answers` and what it knew in `request.state()`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from dragoman.demo.server import Request

Json = dict[str, Any]

MENU = "menu://today"
MOODS = ("adventurous", "cosy", "hungry", "in a hurry")
TEXT: Json = {"type": "string"}


class Refused(Exception):
    """A request that ends in an error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        self.code = code
        self.message = message
        self.data = data

    def error(self) -> Json:
        return {"code": self.code, "message": self.message} | ({} if self.data is None else {"data": self.data})


class Restaurant:
    """`changed` is told which list is new, `updated` which resource."""

    INSTRUCTIONS = "A restaurant. Greet the guest, then book a table."
    CAPABILITIES: ClassVar[Json] = {
        "tools": {"listChanged": True},
        "prompts": {},
        "resources": {"subscribe": True},
        "completions": {},
        "logging": {},
    }
    PROMPTS: ClassVar[list[Json]] = [
        {
            "name": "recommend",
            "description": "Ask for a dish that suits a mood.",
            "arguments": [{"name": "mood", "description": "How the guest feels.", "required": True}],
        }
    ]
    RESOURCES: ClassVar[list[Json]] = [{"uri": MENU, "name": "menu", "title": "Today's menu", "mimeType": "text/plain"}]
    TEMPLATES: ClassVar[list[Json]] = [{"uriTemplate": "menu://dish/{dish}", "name": "dish", "mimeType": "text/plain"}]

    def __init__(self, changed: Callable[[str], None], updated: Callable[[str], None]) -> None:
        self._changed = changed
        self._updated = updated
        self.dishes = {"soup": "lentils, lemon, mint", "pilaf": "rice, almonds, saffron"}

    # ------------------------------------------------------------------ tools

    def tools(self) -> list[Json]:
        fixed = [
            _tool("greet", "Say hello.", guest=TEXT),
            _tool("book_table", "Book a table. Asks twice: for the evening, and for the seat."),
            _tool("count", "Count the plates, one after the other, and say how far it is.", plates={"type": "integer"}),
            _tool("add_dish", "Put a dish on the menu; it can be ordered at once.", dish=TEXT, made_of=TEXT),
            _tool("praise_dish", "Let your own model praise a dish.", dish=TEXT),
            _tool("find_recipes", "Look where your recipes are."),
            _tool("pay", "Pay in the web browser."),
        ]
        return [*fixed, *(_tool(f"order_{dish}", f"Order the {dish}.") for dish in self.dishes)]

    def call(self, name: str, given: Json, request: "Request") -> Json:
        """
        Raises:
            Refused: there is no such tool.
        """
        dish = name.removeprefix("order_")
        if name.startswith("order_") and dish in self.dishes:
            return _says(f"One {dish}, coming up.")
        if all(name != tool["name"] for tool in self.tools()):
            raise Refused(-32602, "There is no such tool.")
        tool: Callable[[Json, Request], Json] = getattr(self, f"_{name}")
        return tool(given, request)

    def _greet(self, given: Json, request: "Request") -> Json:
        return _says(f"Welcome, {given.get('guest', 'stranger')}!")

    def _book_table(self, given: Json, request: "Request") -> Json:
        known = request.state()
        for form in ("evening", "seat"):
            answer = request.answers.get(form)
            if answer is not None:
                if answer.get("action") != "accept":
                    return _says("No table was booked.")
                known |= answer.get("content", {})
        if "guests" not in known:
            request.require("elicitation", "form")
            fields = {
                "day": {"type": "string", "title": "Day", "enum": ["Friday", "Saturday"]},
                "guests": {"type": "integer", "title": "Guests", "minimum": 1, "maximum": 8},
            }
            return request.ask({"evening": _form("For which evening?", fields)}, known)
        if "seat" not in known:
            request.require("elicitation", "form")
            fields = {"seat": {"type": "string", "title": "Seat", "enum": ["window", "garden"]}}
            return request.ask({"seat": _form(f"Where shall {known['guests']} sit?", fields)}, known)
        booked = {"day": known["day"], "guests": known["guests"], "seat": known["seat"]}
        return _says("A table for {guests} at the {seat}, on {day}.".format(**booked)) | {"structuredContent": booked}

    def _count(self, given: Json, request: "Request") -> Json:
        plates = given.get("plates", 3)
        if not isinstance(plates, int) or not 0 < plates <= 100:
            return _says("That is no number of plates.") | {"isError": True}
        for plate in range(1, plates + 1):
            if request.cancelled.wait(0.05):
                break
            request.progress(plate, plates, f"plate {plate}")
        return _says(f"There are {plates} plates.")

    def _add_dish(self, given: Json, request: "Request") -> Json:
        dish = str(given.get("dish", "")).strip().lower().replace(" ", "_")
        if not (dish.isascii() and dish.replace("_", "").isalnum()):
            return _says("A dish needs a name of plain letters.") | {"isError": True}
        self.dishes[dish] = str(given.get("made_of", "a secret"))
        self._changed("tools")
        self._updated(MENU)
        request.log("info", f"The menu has {len(self.dishes)} dishes.")
        return _says(f"From now on there is {dish}.")

    def _praise_dish(self, given: Json, request: "Request") -> Json:
        answer = request.answers.get("praise")
        if answer is not None:
            return {"content": [answer["content"]] if isinstance(answer["content"], dict) else answer["content"]}
        request.require("sampling")
        wish = {"type": "text", "text": f"Praise this dish in one sentence: {given.get('dish', 'soup')}."}
        params = {"messages": [{"role": "user", "content": wish}], "maxTokens": 60}
        return request.ask({"praise": {"method": "sampling/createMessage", "params": params}}, {})

    def _find_recipes(self, given: Json, request: "Request") -> Json:
        answer = request.answers.get("places")
        if answer is None:
            request.require("roots")
            return request.ask({"places": {"method": "roots/list"}}, {})
        places = [root["uri"] for root in answer["roots"]]
        return _says(f"Looked for recipes in {', '.join(places) or 'no place'}.")

    def _pay(self, given: Json, request: "Request") -> Json:
        """Ask for the same page until the guest has come back from it: once to open it, once to continue."""
        visits = request.state().get("visits", 0)
        answer = request.answers.get("page")
        if answer is not None and answer.get("action") != "accept":
            return _says("The bill stays open.")
        if visits == 2:
            return _says("Paid. Thank you!")
        request.require("elicitation", "url")
        params = {"mode": "url", "message": "Please pay on this page.", "url": "https://pay.example/bill/7"}
        return request.ask({"page": {"method": "elicitation/create", "params": params}}, {"visits": visits + 1})

    # ------------------------------------------------------------------ prompts, resources, completion

    def prompt(self, name: str, given: Json) -> Json:
        if name != "recommend" or not isinstance(given.get("mood"), str):
            raise Refused(-32602, "There is the prompt recommend, and it needs a mood.")
        text = f"I am {given['mood']}. Which of these suits me? {', '.join(self.dishes)}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def read(self, uri: str) -> Json:
        dish = uri.removeprefix("menu://dish/")
        if uri == MENU:
            text = "\n".join(f"{name}: {made_of}" for name, made_of in self.dishes.items())
        elif uri.startswith("menu://dish/") and dish in self.dishes:
            text = self.dishes[dish]
        else:
            raise Refused(-32602, "There is no such resource.", {"uri": uri})
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}

    def complete(self, ref: Json, argument: Json) -> Json:
        known = {"mood": MOODS, "dish": tuple(self.dishes)}.get(str(argument.get("name")))
        if ref.get("type") not in ("ref/prompt", "ref/resource") or known is None:
            raise Refused(-32602, "There is nothing to complete here.")
        values = [value for value in known if value.startswith(str(argument.get("value", "")))]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def _tool(name: str, description: str, **arguments: Json) -> Json:
    schema = {"type": "object", "properties": arguments}
    return {"name": name, "description": description, "inputSchema": schema}


def _says(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


def _form(message: str, fields: Json) -> Json:
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}
