"""Sign-ins that end with this process."""


class Memory:
    label = "memory"
    is_shared = False

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self._kept.get(name)

    def write(self, name: str, data: bytes) -> None:
        self._kept[name] = data

    def delete(self, name: str) -> bool:
        return self._kept.pop(name, None) is not None
