"""Files, folders and patterns on a command line, as the documents that they stand for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from hpplan.documents.reader import Document
from hpplan.documents.source import Sources
from hpplan.errors import Failures, UnusableRequest


class NamedDocuments:
    """The documents of some kinds among what a command line names.

    A file that is named must be of one of these kinds. In a folder, and
    everywhere with `skip_foreign`, what is of no such kind is left out.
    """

    def __init__(
        self,
        sources: Sources,
        taker: str,
        wanted: tuple[str, ...],
        *,
        skip_foreign: bool = False,
        show_skipped: Callable[[str], None] | None = None,
    ) -> None:
        """Take what reads them, as messages call it, and the kinds that it takes.

        `show_skipped` is told of each file that is left out, and why.
        """
        self._sources, self._taker, self._wanted = sources, taker, wanted
        self._skip_foreign, self._show_skipped = skip_foreign, show_skipped
        self._folders: dict[str, str] = {}
        """The folder in which a path was found that nobody named."""
        self._used: set[str] = set()
        self.skipped = 0
        """How many files were left out."""
        self.failures = Failures()
        """What keeps a part of all that is named from being read."""

    def paths(self, arguments: Iterable[str]) -> list[str]:
        """Return the paths of what may be documents, each once, in the order in which they are named.

        A pattern that nothing matches, or a folder that cannot be read, goes into `failures`.
        """
        from hpplan.documents.disk.folder import distinct, named

        paths: list[str] = []
        for argument in arguments:
            with self.failures:
                paths += (file for path in named([argument]) for file in self._expanded(path))
        return distinct(paths)

    def look_at(self, paths: Iterable[str]) -> None:
        """Take paths at which somebody found what may be plans, who knows which have to be there."""
        self._folders |= dict.fromkeys(paths, "")

    def _expanded(self, path: str) -> list[str]:
        from hpplan.documents.disk.folder import files_in

        if path == "-" or not os.path.isdir(path):  # noqa: PTH112 - pathlib takes longer to import
            return [path]
        files = files_in(path)
        self._folders |= dict.fromkeys(files, path)
        if not files:
            self._folders[path] = path
        return files

    def read(self, path: str, *, named: bool = False) -> Document | None:
        """Return the document at a path, or None where it is left out, which one that is `named` is not.

        Raises what reading does, and UnusableRequest for a document of another kind.
        """
        from hpplan.documents.reader import read_document
        from hpplan.validation.kinds import take

        if not named and (path in self._folders or (self._skip_foreign and path != "-")):
            return self._looked_at(path)
        if path.endswith(".toml"):
            command = self._taker.replace("hpplan", f"hpplan --config {path}", 1)
            raise UnusableRequest(f"{path} is no plan; if it names plans, type `{command}`.")
        document = read_document(path, self._sources)
        take(document, self._taker, *self._wanted)
        return document

    def _looked_at(self, path: str) -> Document | None:
        from hpplan.documents.disk.streams import read_bytes
        from hpplan.documents.reader import parse_document
        from hpplan.errors import InvalidInput
        from hpplan.validation.kinds import is_meant_as_own, kind_named, may_be_own, own_kind

        raw = read_bytes(path)
        document = None
        try:
            document = parse_document(raw, path) if may_be_own(raw) else None
        except InvalidInput:
            if is_meant_as_own(raw, self._wanted):
                self._use(path)
                parse_document(raw, path, self._sources)
        kind = None if document is None else own_kind(document.data)
        # Whoever found it says what it is: a plan.
        wanted = self._wanted if self._folders.get(path, path) else ("plan",)
        if document is None or kind not in wanted:
            told = "it is no document of hpplan" if kind is None else f"it {kind_named(kind).what}"
            self.skipped += 1
            if self._show_skipped is not None:
                self._show_skipped(f"{path}: skipped: {told}")
            return None
        self._use(path)
        self._sources.add(document.source)
        return document

    def _use(self, path: str) -> None:
        self._used.add(self._folders.get(path, path))

    def check(self) -> None:
        """Add folders in which there was nothing to the failures; call it when all is read."""
        from hpplan.validation.kinds import kind_named

        if self._skip_foreign:
            return
        what = kind_named(self._wanted[0]).name if len(self._wanted) == 1 else "document of hpplan"
        for folder in dict.fromkeys(self._folders.values()):
            if folder and folder not in self._used:
                others = " --show-skipped names what is there." if self.skipped else ""
                with self.failures:
                    raise UnusableRequest(f"There is no {what} in {folder}.{others}")
