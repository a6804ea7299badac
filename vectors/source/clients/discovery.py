"""diagipc/clients/scenarios/discovery.json: finding the socket of the process; each scenario adds a decoy."""
from asked import answered
from scenario import Scenarios

FILE = Scenarios("discovery", "How a client finds the socket of the process")

# Commands that do harm in the wrong process, and one that does not.
for operation in ("process-info", "set-env", "dump", "attach", "trace"):
    for decoy, comment, spec in (
            ("longer-pid", "A process whose id begins with the same digits has a socket too", ["R-TRN-012"]),
            ("later-key", "A newer socket has the same process id and another start time", ["R-TRN-008"]),
            ("earlier-key", "An older process of the same id has left its socket", ["R-TRN-008", "F-61"]),
            ("plain-file", "A newer plain file is named like a socket of the process", ["R-TRN-003", "R-TRN-012"]),
            ("old-prefix", "A socket is named as in drafts of the protocol", ["R-TRN-013"]),
            ("other-owner", "A newer socket has the same process id, and belongs to another user", ["R-TRN-008", "F-61"]),
            ("other-tmpdir", "The client's TMPDIR is not that of the process, and has a socket with the same process id",
             ["R-TRN-008", "R-TRN-012"])):
        # A client that is given the socket does not search for it.
        FILE.add(f"discovery/{decoy}/{operation}", comment, spec, operation, answered(operation), "success", needs=["pid"], decoys=[decoy])
