#!/usr/bin/env python3
"""hosted.py RUNTIME CONFIGURATION idle | many MEGABYTES | database

A .NET process, hosted by Python, that does nothing, or prints "ready" and writes events until it is ended. many: of the provider Busy, so
many megabytes of payload in a second, 2,000 bytes in each. database: the diagnostic events of a command of SqlClient and of Entity Framework Core,
which the profile `database` turns into events. launch.py has `hosted`, which starts it.
"""
import sys
import time

import pythonnet
from clr_loader import get_coreclr

pythonnet.set_runtime(get_coreclr(runtime_config=sys.argv[2], dotnet_root=sys.argv[1]))
pythonnet.load()
while sys.argv[3] == "idle":
    time.sleep(0.2)
import clr

for assembly in ("Collections", "Diagnostics.DiagnosticSource", "Linq.Expressions"):
    clr.AddReference(f"System.{assembly}")
from System import Action, Array, String
from System.Collections.Generic import KeyValuePair
from System.Diagnostics import DiagnosticListener
from System.Diagnostics.Tracing import EventSource, EventSourceSettings
from System.Linq.Expressions import Expression

PAYLOAD, BATCH = 2000, 100
COMMANDS = {
    "SqlClientDiagnosticListener": "System.Data.SqlClient.WriteCommand{Before,After}",
    "Microsoft.EntityFrameworkCore": "Microsoft.EntityFrameworkCore.Database.Command.Command{Executing,Executed}",
}


def batch():
    """Writes events, without Python."""
    pair = KeyValuePair[String, String]("a", "x" * (PAYLOAD // 2 - 3))
    (write,) = [method for method in clr.GetClrType(EventSource).GetMethods()
                if method.Name == "Write" and method.IsGenericMethod and method.GetParameters().Length == 2]
    source = EventSource("Busy", EventSourceSettings.EtwSelfDescribingEventFormat)
    call = Expression.Call(Expression.Constant(source), write.MakeGenericMethod(pair.GetType()), Expression.Constant("Text"),
                           Expression.Constant(pair))
    return Expression.Lambda[Action](Expression.Block(Array[Expression]([call] * BATCH))).Compile()


def many(megabytes):
    write, rate = batch(), float(megabytes) * 1e6 / (BATCH * PAYLOAD)
    print("ready", flush=True)
    began, batches = time.monotonic(), 0
    while True:
        write.Invoke()
        batches += 1
        ahead = batches / rate - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)
        elif ahead < -1:
            # It was too slow; missed events are not written later.
            began, batches = time.monotonic(), 0


def database():
    listeners = [(DiagnosticListener(name), events) for name, events in COMMANDS.items()]
    print("ready", flush=True)
    while True:
        for listener, events in listeners:
            front, _, words = events.rstrip("}").partition("{")
            for name in (front + word for word in words.split(",")):
                if listener.IsEnabled(name):
                    listener.Write(name, KeyValuePair[String, String]("a", "b"))
        time.sleep(0.02)


if __name__ == "__main__":
    {"many": many, "database": database}[sys.argv[3]](*sys.argv[4:])
