--[[
dotnet_ipc.lua: a dissector for Wireshark of the .NET Diagnostic IPC Protocol (DOTNET_IPC_V1).

    diagipc proxy --listen DIRECTORY --to PID --pcapng FILE        a capture, while it is written or after
    wireshark -X lua_script:dotnet_ipc.lua FILE                    or put this file into Wireshark's plugin folder
    tshark -X lua_script:dotnet_ipc.lua -r FILE -V

Every field is a filter: `diagipc.` and its name in the document, lower case with underscores (diagipc.provider_name). Others are
diagipc.fault (what is malformed or would be refused, by the names of spec/grammar.json), diagipc.absent (absent strings),
diagipc.leniency (what is accepted but should not be sent), diagipc.answers, diagipc.time (from request to reply). spec/GRAMMAR.md
lists all of them, and the layout of a packet.

Printed by `diagipc dev grammar --format lua` of dotnet-diagnostics-ipc. Do not edit. License: MIT OR Apache-2.0.
]]
local grammar = {
  schema = "grammar.schema.json",
  format = 1,
  protocol = "DOTNET_IPC_V1",
  byteOrder = "little",
  largestMessage = 65535,
  header = {
    direction = "both",
    bytes = 20,
    magic = "444f544e45545f4950435f563100",
    fields = {
      { name = "size", type = "ushort" },
      { name = "command_set", type = "byte" },
      { name = "command_id", type = "byte" },
      { name = "reserved", type = "ushort" }
    }
  },
  checks = {
    { name = "magic", fault = "bad_magic" },
    { name = "header", fault = "end_of_input" },
    { name = "size", fault = "size_too_small" },
    { name = "all", fault = "end_of_input" },
    { name = "end", fault = "bytes_after_message" },
    { name = "command", of = "request", fault = "unexpected_command" },
    { name = "command", of = "reply", fault = "not_a_reply" },
    { name = "payload" },
    { name = "limits", of = "request" }
  },
  kinds = {
    { name = "byte", bytes = 1, value = "number" },
    { name = "ushort", bytes = 2, value = "number" },
    { name = "wchar", bytes = 2, value = "number" },
    { name = "uint", bytes = 4, value = "number" },
    { name = "ulong", bytes = 8, value = "decimal" },
    { name = "hresult", bytes = 4, value = "hresult" },
    { name = "bool", bytes = 1, value = "bool" },
    { name = "guid", bytes = 16, value = "guid" },
    { name = "string", count = "uint", unit = 2, last = 0, value = "text" },
    { name = "bytes", count = "uint", unit = 1, value = "hexadecimal" },
    { name = "array", count = "uint", value = "list" },
    { name = "rest", value = "hexadecimal" }
  },
  structs = {
    {
      name = "event_filter",
      least = 5,
      fields = {{ name = "enable", type = "bool" }, { name = "event_ids", type = "array", items = "uint" }}
    },
    {
      name = "tracepoint_set",
      least = 8,
      fields = {
        {
          name = "tracepoint_name",
          type = "string",
          limits = {
            { fault = "empty_tracepoint_name", of = "visibleBeforeNul", ranges = {{1, 4294967295}} },
            { fault = "tracepoint_name_too_long", of = "utf8BeforeNul", ranges = {{0, 436}} }
          },
          absent = "refused (F-21)",
          empty = "refused (F-21); a string that begins with NUL (P-43), or has only white space (F-147), too"
        },
        { name = "event_ids", type = "array", items = "uint" }
      }
    },
    {
      name = "tracepoint_config",
      least = 8,
      fields = {
        {
          name = "default_tracepoint_name",
          type = "string",
          limits = {{ fault = "tracepoint_name_too_long", of = "utf8BeforeNul", ranges = {{0, 436}} }},
          absent = "events that no set lists are not written",
          empty = "counts as a name; its registration fails (P-7)"
        },
        { name = "tracepoints", type = "array", items = "tracepoint_set" }
      },
      limits = {
        { fault = "no_tracepoint", of = "countOfAll", fields = {"default_tracepoint_name", "tracepoints"}, ranges = {{1, 4294967295}} },
        { fault = "duplicate_event_id", of = "distinct", fields = {"tracepoints", "event_ids"} }
      }
    },
    {
      name = "provider_config",
      least = 20,
      fields = {
        { name = "keywords", type = "ulong" },
        {
          name = "logLevel",
          type = "uint",
          names = { [0] = "LogAlways", [1] = "Critical", [2] = "Error", [3] = "Warning", [4] = "Informational", [5] = "Verbose" },
          limits = {{ fault = "log_level_out_of_range", of = "value", ranges = {{0, 5}} }}
        },
        {
          name = "provider_name",
          type = "string",
          limits = {{ fault = "empty_provider_name", of = "visibleBeforeNul", ranges = {{1, 4294967295}} }},
          absent = "refused (F-16)",
          empty = "refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too"
        },
        { name = "arguments", type = "string", absent = "no arguments", empty = "arguments without text" }
      }
    },
    {
      name = "streaming_provider_config",
      least = 25,
      fields = {
        { name = "keywords", type = "ulong" },
        {
          name = "logLevel",
          type = "uint",
          names = { [0] = "LogAlways", [1] = "Critical", [2] = "Error", [3] = "Warning", [4] = "Informational", [5] = "Verbose" },
          limits = {{ fault = "log_level_out_of_range", of = "value", ranges = {{0, 5}} }}
        },
        {
          name = "provider_name",
          type = "string",
          limits = {{ fault = "empty_provider_name", of = "visibleBeforeNul", ranges = {{1, 4294967295}} }},
          absent = "refused (F-16)",
          empty = "refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too"
        },
        { name = "arguments", type = "string", absent = "no arguments", empty = "arguments without text" },
        { name = "filter", type = "event_filter" }
      }
    },
    {
      name = "user_events_provider_config",
      least = 33,
      fields = {
        { name = "keywords", type = "ulong" },
        {
          name = "logLevel",
          type = "uint",
          names = { [0] = "LogAlways", [1] = "Critical", [2] = "Error", [3] = "Warning", [4] = "Informational", [5] = "Verbose" },
          limits = {{ fault = "log_level_out_of_range", of = "value", ranges = {{0, 5}} }}
        },
        {
          name = "provider_name",
          type = "string",
          limits = {{ fault = "empty_provider_name", of = "visibleBeforeNul", ranges = {{1, 4294967295}} }},
          absent = "refused (F-16)",
          empty = "refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too"
        },
        { name = "arguments", type = "string", absent = "no arguments", empty = "arguments without text" },
        { name = "filter", type = "event_filter" },
        { name = "config", type = "tracepoint_config" }
      }
    },
    {
      name = "draft_provider_config",
      least = 20,
      fields = {
        { name = "keywords", type = "ulong" },
        {
          name = "logLevel",
          type = "uint",
          names = { [0] = "LogAlways", [1] = "Critical", [2] = "Error", [3] = "Warning", [4] = "Informational", [5] = "Verbose" }
        },
        { name = "provider_name", type = "string", absent = "no name", empty = "no name" },
        { name = "filter_data", type = "string", absent = "no filter data", empty = "filter data without text" }
      }
    }
  },
  commands = {
    {
      name = "Dump/GenerateCoreDump",
      code = "0x0101",
      since = "3.1",
      direction = "client",
      fields = {
        {
          name = "dumpName",
          type = "string",
          limits = {{ fault = "absent_name", of = "count", ranges = {{1, 4294967295}} }},
          absent = "must be refused; released runtimes die of it (F-72)",
          empty = "accepted; the runtime chooses the place (F-126)"
        },
        {
          name = "dumpType",
          type = "uint",
          names = { [1] = "Normal", [2] = "WithHeap", [3] = "Triage", [4] = "Full" },
          limits = {{ fault = "unknown_dump_type", of = "value", ranges = {{1, 4}} }}
        },
        { name = "diagnostics", type = "uint" }
      },
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Dump/GenerateCoreDump2",
      code = "0x0102",
      since = "6.0",
      direction = "client",
      fields = {
        {
          name = "dumpName",
          type = "string",
          limits = {{ fault = "absent_name", of = "count", ranges = {{1, 4294967295}} }},
          absent = "must be refused; released runtimes die of it (F-72)",
          empty = "accepted; the runtime chooses the place (F-126)"
        },
        {
          name = "dumpType",
          type = "uint",
          names = { [1] = "Normal", [2] = "WithHeap", [3] = "Triage", [4] = "Full" },
          limits = {{ fault = "unknown_dump_type", of = "value", ranges = {{1, 4}} }}
        },
        { name = "flags", type = "uint", bits = true, names = { [1] = "Logging", [2] = "VerboseLogging", [4] = "CrashReport" } }
      },
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Dump/GenerateCoreDump3",
      code = "0x0103",
      since = "7.0",
      direction = "client",
      fields = {
        {
          name = "dumpName",
          type = "string",
          limits = {{ fault = "absent_name", of = "count", ranges = {{1, 4294967295}} }},
          absent = "must be refused; released runtimes die of it (F-72)",
          empty = "accepted; the runtime chooses the place (F-126)"
        },
        {
          name = "dumpType",
          type = "uint",
          names = { [1] = "Normal", [2] = "WithHeap", [3] = "Triage", [4] = "Full" },
          limits = {{ fault = "unknown_dump_type", of = "value", ranges = {{1, 4}} }}
        },
        { name = "flags", type = "uint", bits = true, names = { [1] = "Logging", [2] = "VerboseLogging", [4] = "CrashReport" } }
      },
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "EventPipe/StopTracing",
      code = "0x0201",
      since = "3.1",
      direction = "client",
      fields = {{ name = "sessionId", type = "ulong" }},
      reply = "SessionReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "EventPipe/CollectTracing",
      code = "0x0202",
      since = "3.1",
      direction = "client",
      fields = {
        {
          name = "circularBufferMB",
          type = "uint",
          unit = "MB",
          limits = {{ fault = "zero_buffer", of = "value", ranges = {{1, 4294967295}} }}
        },
        {
          name = "format",
          type = "uint",
          names = { [0] = "NetPerf", [1] = "NetTrace" },
          limits = {{ fault = "unknown_format", of = "value", ranges = {{0, 1}} }}
        },
        {
          name = "providers",
          type = "array",
          items = "provider_config",
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        }
      },
      reply = "SessionReply",
      continuation = {{ name = "nettrace" }}
    },
    {
      name = "EventPipe/CollectTracing2",
      code = "0x0203",
      since = "3.1",
      direction = "client",
      fields = {
        {
          name = "circularBufferMB",
          type = "uint",
          unit = "MB",
          limits = {{ fault = "zero_buffer", of = "value", ranges = {{1, 4294967295}} }}
        },
        {
          name = "format",
          type = "uint",
          names = { [0] = "NetPerf", [1] = "NetTrace" },
          limits = {{ fault = "unknown_format", of = "value", ranges = {{0, 1}} }}
        },
        { name = "requestRundown", type = "bool" },
        {
          name = "providers",
          type = "array",
          items = "provider_config",
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        }
      },
      reply = "SessionReply",
      continuation = {{ name = "nettrace" }}
    },
    {
      name = "EventPipe/CollectTracing3",
      code = "0x0204",
      since = "9.0",
      direction = "client",
      fields = {
        {
          name = "circularBufferMB",
          type = "uint",
          unit = "MB",
          limits = {{ fault = "zero_buffer", of = "value", ranges = {{1, 4294967295}} }}
        },
        {
          name = "format",
          type = "uint",
          names = { [0] = "NetPerf", [1] = "NetTrace" },
          limits = {{ fault = "unknown_format", of = "value", ranges = {{0, 1}} }}
        },
        { name = "requestRundown", type = "bool" },
        { name = "requestStackwalk", type = "bool" },
        {
          name = "providers",
          type = "array",
          items = "provider_config",
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        }
      },
      reply = "SessionReply",
      continuation = {{ name = "nettrace" }}
    },
    {
      name = "EventPipe/CollectTracing4",
      code = "0x0205",
      since = "9.0",
      direction = "client",
      fields = {
        {
          name = "circularBufferMB",
          type = "uint",
          unit = "MB",
          limits = {{ fault = "zero_buffer", of = "value", ranges = {{1, 4294967295}} }}
        },
        {
          name = "format",
          type = "uint",
          names = { [0] = "NetPerf", [1] = "NetTrace" },
          limits = {{ fault = "unknown_format", of = "value", ranges = {{0, 1}} }}
        },
        { name = "rundownKeyword", type = "ulong" },
        { name = "requestStackwalk", type = "bool" },
        {
          name = "providers",
          type = "array",
          items = "provider_config",
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        }
      },
      reply = "SessionReply",
      continuation = {{ name = "nettrace" }}
    },
    {
      name = "EventPipe/CollectTracing5",
      code = "0x0206",
      since = "10.0",
      direction = "client",
      fields = {
        { name = "session_type", type = "uint", only = {0, 1}, names = { [0] = "streaming", [1] = "user_events" } },
        {
          name = "streaming_circularBufferMB",
          type = "uint",
          when = { field = "session_type", is = 0 },
          unit = "MB",
          limits = {{ fault = "zero_buffer", of = "value", ranges = {{1, 4294967295}} }}
        },
        {
          name = "streaming_format",
          type = "uint",
          when = { field = "session_type", is = 0 },
          names = { [0] = "NetPerf", [1] = "NetTrace" },
          limits = {{ fault = "unknown_format", of = "value", ranges = {{0, 1}} }}
        },
        { name = "rundownKeyword", type = "ulong", when = { field = "session_type", is = 0 } },
        { name = "requestStackwalk", type = "bool", when = { field = "session_type", is = 0 } },
        {
          name = "providers",
          type = "array",
          items = "streaming_provider_config",
          when = { field = "session_type", is = 0 },
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        },
        { name = "rundownKeyword", type = "ulong", when = { field = "session_type", is = 1 } },
        {
          name = "providers",
          type = "array",
          items = "user_events_provider_config",
          when = { field = "session_type", is = 1 },
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        }
      },
      reply = "SessionReply",
      continuation = {
        { name = "nettrace", when = { field = "session_type", is = 0 } },
        { name = "user_events", when = { field = "session_type", is = 1 } }
      }
    },
    {
      name = "EventPipe/CollectTracing6",
      code = "0x0207",
      since = "11.0",
      direction = "client",
      fields = {
        { name = "session_type", type = "uint", only = {0, 1}, names = { [0] = "streaming", [1] = "user_events" } },
        {
          name = "streaming_circularBufferMB",
          type = "uint",
          when = { field = "session_type", is = 0 },
          unit = "MB",
          limits = {{ fault = "zero_buffer", of = "value", ranges = {{1, 4294967295}} }}
        },
        {
          name = "streaming_format",
          type = "uint",
          when = { field = "session_type", is = 0 },
          names = { [0] = "NetPerf", [1] = "NetTrace" },
          limits = {{ fault = "unknown_format", of = "value", ranges = {{0, 1}} }}
        },
        { name = "rundownKeyword", type = "ulong", when = { field = "session_type", is = 0 } },
        { name = "requestStackwalk", type = "bool", when = { field = "session_type", is = 0 } },
        {
          name = "providers",
          type = "array",
          items = "streaming_provider_config",
          when = { field = "session_type", is = 0 },
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        },
        {
          name = "sessionBufferMode",
          type = "uint",
          when = { field = "session_type", is = 0 },
          names = { [0] = "drop", [1] = "block" },
          limits = {{ fault = "unknown_buffer_mode", of = "value", ranges = {{0, 1}} }}
        },
        { name = "rundownKeyword", type = "ulong", when = { field = "session_type", is = 1 } },
        {
          name = "providers",
          type = "array",
          items = "user_events_provider_config",
          when = { field = "session_type", is = 1 },
          limits = {
            { fault = "no_providers", of = "count", ranges = {{1, 4294967295}} },
            { fault = "too_many_providers", of = "count", ranges = {{0, 1000}} }
          }
        }
      },
      reply = "SessionReply",
      continuation = {
        { name = "nettrace", when = { field = "session_type", is = 0 } },
        { name = "user_events", when = { field = "session_type", is = 1 } }
      }
    },
    {
      name = "Profiler/AttachProfiler",
      code = "0x0301",
      since = "3.1",
      direction = "client",
      fields = {
        { name = "attachTimeout", type = "uint", unit = "ms" },
        { name = "profilerGuid", type = "guid" },
        {
          name = "profilerPath",
          type = "string",
          absent = "decodes; answered by E_FAIL (P-5)",
          empty = "decodes; answered by E_FAIL (P-5)"
        },
        { name = "clientData", type = "bytes" }
      },
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Profiler/StartupProfiler",
      code = "0x0302",
      since = "6.0",
      direction = "client",
      fields = {{ name = "profilerGuid", type = "guid" }, { name = "profilerPath", type = "string", absent = "no path", empty = "no path" }},
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/ProcessInfo",
      code = "0x0400",
      since = "5.0",
      direction = "client",
      fields = {},
      reply = "ProcessInfoReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/ResumeRuntime",
      code = "0x0401",
      since = "5.0",
      direction = "client",
      fields = {},
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/ProcessEnvironment",
      code = "0x0402",
      since = "5.0",
      direction = "client",
      fields = {},
      reply = "ProcessEnvironmentReply",
      continuation = {{ name = "environment" }}
    },
    {
      name = "Process/SetEnvironmentVariable",
      code = "0x0403",
      since = "6.0",
      direction = "client",
      fields = {
        {
          name = "name",
          type = "string",
          limits = {{ fault = "absent_name", of = "count", ranges = {{1, 4294967295}} }},
          absent = "refused (F-80)",
          empty = "accepted, but nothing is set (F-80)"
        },
        { name = "value", type = "string", absent = "deletes the variable (F-44)", empty = "a value without text" }
      },
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/ProcessInfo2",
      code = "0x0404",
      since = "6.0",
      direction = "client",
      fields = {},
      reply = "ProcessInfo2Reply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/EnablePerfMap",
      code = "0x0405",
      since = "8.0",
      direction = "client",
      fields = {
        {
          name = "perfMapType",
          type = "uint",
          names = { [0] = "DISABLED", [1] = "ALL", [2] = "JITDUMP", [3] = "PERFMAP" },
          limits = {{ fault = "unknown_perf_map_type", of = "value", ranges = {{1, 3}, {2147483648, 4294967295}} }}
        }
      },
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/DisablePerfMap",
      code = "0x0406",
      since = "8.0",
      direction = "client",
      fields = {},
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/ApplyStartupHook",
      code = "0x0407",
      since = "8.0",
      direction = "client",
      fields = {
        {
          name = "startupHookPath",
          type = "string",
          limits = {{ fault = "absent_name", of = "count", ranges = {{1, 4294967295}} }},
          absent = "refused (F-47)",
          empty = "accepted, but no hook is run (P-1)"
        }
      },
      reply = "ResultReply",
      continuation = {{ name = "close" }}
    },
    {
      name = "Process/ProcessInfo3",
      code = "0x0408",
      since = "8.0",
      direction = "client",
      fields = {},
      reply = "ProcessInfo3Reply",
      continuation = {{ name = "close" }}
    }
  },
  replies = {
    {
      name = "ResultReply",
      code = "0xFF00",
      direction = "server",
      fields = {{ name = "hresult", type = "hresult" }},
      answers = {
        "Dump/GenerateCoreDump",
        "Dump/GenerateCoreDump2",
        "Dump/GenerateCoreDump3",
        "Profiler/AttachProfiler",
        "Profiler/StartupProfiler",
        "Process/ResumeRuntime",
        "Process/SetEnvironmentVariable",
        "Process/EnablePerfMap",
        "Process/DisablePerfMap",
        "Process/ApplyStartupHook"
      }
    },
    {
      name = "SessionReply",
      code = "0xFF00",
      direction = "server",
      fields = {{ name = "sessionId", type = "ulong" }},
      answers = {
        "EventPipe/StopTracing",
        "EventPipe/CollectTracing",
        "EventPipe/CollectTracing2",
        "EventPipe/CollectTracing3",
        "EventPipe/CollectTracing4",
        "EventPipe/CollectTracing5",
        "EventPipe/CollectTracing6"
      }
    },
    {
      name = "ProcessInfoReply",
      code = "0xFF00",
      direction = "server",
      fields = {
        { name = "processId", type = "ulong" },
        { name = "runtimeCookie", type = "guid" },
        { name = "commandLine", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "OS", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "arch", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" }
      },
      answers = {"Process/ProcessInfo"}
    },
    {
      name = "ProcessEnvironmentReply",
      code = "0xFF00",
      direction = "server",
      fields = {{ name = "nIncomingBytes", type = "uint" }, { name = "future", type = "ushort" }},
      answers = {"Process/ProcessEnvironment"}
    },
    {
      name = "ProcessInfo2Reply",
      code = "0xFF00",
      direction = "server",
      fields = {
        { name = "processId", type = "ulong" },
        { name = "runtimeCookie", type = "guid" },
        { name = "commandLine", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "OS", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "arch", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        {
          name = "managedEntrypointAssemblyName",
          type = "string",
          absent = "as empty; runtimes send empty (F-11)",
          empty = "the entry assembly is not loaded yet (F-39)"
        },
        { name = "clrProductVersion", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" }
      },
      answers = {"Process/ProcessInfo2"}
    },
    {
      name = "ProcessInfo3Reply",
      code = "0xFF00",
      direction = "server",
      fields = {
        { name = "version", type = "uint" },
        { name = "processId", type = "ulong" },
        { name = "runtimeCookie", type = "guid" },
        { name = "commandLine", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "OS", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "arch", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        {
          name = "managedEntrypointAssemblyName",
          type = "string",
          absent = "as empty; runtimes send empty (F-11)",
          empty = "the entry assembly is not loaded yet (F-39)"
        },
        { name = "clrProductVersion", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "runtimeIdentifier", type = "string", absent = "as empty; runtimes send empty (F-11)", empty = "unknown to the runtime" },
        { name = "tail", type = "rest" }
      },
      answers = {"Process/ProcessInfo3"}
    }
  },
  error = {
    code = "0xFFFF",
    direction = "server",
    fields = {
      { name = "hresult", type = "hresult" },
      {
        name = "message",
        type = "string",
        when = { answers = {"Dump/GenerateCoreDump3"}, bytesLeft = true },
        absent = "no text",
        empty = "no text (F-81)"
      }
    }
  },
  continuations = {
    close = { text = "nothing: the server closes the connection" },
    nettrace = {
      text = "the event stream, until the session ends; recognised by its first bytes, otherwise of its own format",
      starts = {
        { name = "nettrace", bytes = "4e6574747261636514000000214661737453657269616c697a6174696f6e2e31" },
        {
          name = "nettrace-blocks",
          bytes = "4e6574747261636500000000",
          fields = {{ name = "major", type = "uint" }, { name = "minor", type = "uint" }}
        },
        { name = "netperf", bytes = "14000000214661737453657269616c697a6174696f6e2e31" }
      }
    },
    environment = {
      text = "a block of `size` bytes: a count, then that many entries; an entry is a count of units, then the units; the last unit is NUL and not part of the text; the first unit `split` after the first unit of the text separates name and value; without it there is no value",
      size = "nIncomingBytes",
      count = "uint",
      entry = { count = "uint", unit = 2, least = 4, last = 0, split = 61 },
      instead = "an error message in place of a count (F-43)"
    },
    user_events = {
      text = "nothing, and the connection is held open: the session ends with it (F-23)",
      descriptor = {
        after = "request",
        before = "reply",
        bytes = "00",
        descriptors = 1,
        as = "SCM_RIGHTS of a sendmsg that sends these bytes and nothing else (F-19, F-20)"
      }
    }
  },
  advertise = {
    direction = "server",
    bytes = 34,
    magic = "414456525f563100",
    fields = {{ name = "runtimeCookie", type = "guid" }, { name = "processId", type = "ulong" }, { name = "future", type = "ushort" }}
  },
  legacy = {
    commands = {
      {
        name = "EventPipe/CollectTracing",
        code = "0x0202",
        edition = "2019-05",
        direction = "client",
        fields = {
          { name = "circularBufferMB", type = "uint", unit = "MB" },
          { name = "outputPath", type = "string", absent = "unused, to be sent absent", empty = "unused" },
          { name = "providers", type = "array", items = "draft_provider_config" }
        }
      }
    },
    oldRequest = {
      text = "of the previous protocol: without magic and size",
      direction = "client",
      fields = {
        {
          name = "RequestType",
          type = "uint",
          names = { [1024] = "StartEventPipeTracing", [1025] = "StopEventPipeTracing", [1026] = "CollectEventPipeTracing" }
        },
        { name = "Pid", type = "uint" }
      }
    },
    oldReply = {
      text = "the whole answer to it: 8 bytes, or their low 4; 0 is the error",
      direction = "server",
      fields = {{ name = "sessionId", type = "ulong" }}
    },
    errorCodes = {
      { code = 0, name = "OK", hresult = "0x00000000" },
      { code = 1, name = "BadEncoding", hresult = "0x80131384" },
      { code = 2, name = "UnknownCommand", hresult = "0x80131385" },
      { code = 3, name = "UnknownMagic", hresult = "0x80131386" },
      { code = 4, name = "BadInput" },
      { code = 4294967295, name = "UnknownError", hresult = "0x80131387" }
    }
  },
  leniencies = {
    { name = "bool", text = "any byte but 0 is true; 1 is written" },
    { name = "trailing_bytes", text = "bytes after the last field of a payload are ignored" },
    { name = "reserved", text = "`reserved` of the header may be any number; 0 is written" },
    { name = "generic_ok", text = "an OK without payload answers any command (F-2)" },
    { name = "negative_perf_map_type", text = "a `perfMapType` of 0x80000000 or more is accepted (P-44)" }
  },
  faults = {
    { name = "bad_magic", layer = "header", answer = "0x80131386" },
    { name = "end_of_input", layer = "transport", answer = "0x80131384" },
    { name = "size_too_small", layer = "transport", answer = "0x80131384" },
    { name = "bytes_after_message", layer = "transport", answer = "0x80131384" },
    { name = "unexpected_command", layer = "header", answer = "0x80131385" },
    { name = "not_a_reply", layer = "reply", answer = "0x80131384" },
    { name = "unexpected_end", layer = "payload", answer = "0x80131384" },
    { name = "count_too_large", layer = "payload", answer = "0x80131384" },
    { name = "missing_terminator", layer = "payload", answer = "0x80131384" },
    { name = "unknown_session_type", layer = "payload", answer = "0x80131384" },
    { name = "zero_buffer", layer = "limits", answer = "0x80131384" },
    { name = "unknown_format", layer = "limits", answer = "0x80131384" },
    { name = "no_providers", layer = "limits", answer = "0x80131384" },
    { name = "too_many_providers", layer = "limits", answer = "0x80131384" },
    { name = "log_level_out_of_range", layer = "limits", answer = "0x80131384" },
    { name = "empty_provider_name", layer = "limits", answer = "0x80131384" },
    { name = "no_tracepoint", layer = "limits", answer = "0x80131384" },
    { name = "tracepoint_name_too_long", layer = "limits", answer = "0x80004005" },
    { name = "empty_tracepoint_name", layer = "limits", answer = "0x80131384" },
    { name = "duplicate_event_id", layer = "limits", answer = "0x80004005" },
    { name = "unknown_buffer_mode", layer = "limits", answer = "0x80131384" },
    { name = "unknown_perf_map_type", layer = "limits", answer = "0x80070057" },
    { name = "absent_name", layer = "limits", answer = "0x80070057" },
    { name = "unknown_dump_type", layer = "limits", answer = "0x80004005" }
  },
  hresults = {
    { code = "0x00000000", name = "S_OK" },
    { code = "0x80131384", name = "DS_IPC_E_BAD_ENCODING" },
    { code = "0x80131385", name = "DS_IPC_E_UNKNOWN_COMMAND" },
    { code = "0x80131386", name = "DS_IPC_E_UNKNOWN_MAGIC" },
    { code = "0x80131387", name = "CORDIAGIPC_E_UNKNOWN_ERROR" },
    { code = "0x80131515", name = "DS_IPC_E_NOTSUPPORTED" },
    { code = "0x80004005", name = "DS_IPC_E_FAIL" },
    { code = "0x8013135B", name = "DS_IPC_E_NOT_YET_AVAILABLE" },
    { code = "0x80131371", name = "DS_IPC_E_RUNTIME_UNINITIALIZED" },
    { code = "0x80070057", name = "DS_IPC_E_INVALIDARG" },
    { code = "0x8007007A", name = "DS_IPC_E_INSUFFICIENT_BUFFER" },
    { code = "0x800000CB", name = "DS_IPC_E_ENVVAR_NOT_FOUND" },
    { code = "0x800700CB", name = "ERROR_ENVVAR_NOT_FOUND" },
    { code = "0x8007007E", name = "ERROR_MOD_NOT_FOUND" },
    { code = "0x80070008", name = "ERROR_NOT_ENOUGH_MEMORY" },
    { code = "0x80070002", name = "ERROR_FILE_NOT_FOUND" },
    { code = "0x80070003", name = "ERROR_PATH_NOT_FOUND" },
    { code = "0x80070005", name = "E_ACCESSDENIED" },
    { code = "0x8007000E", name = "E_OUTOFMEMORY" },
    { code = "0x800700B7", name = "ERROR_ALREADY_EXISTS" },
    { code = "0x8013136A", name = "CORPROF_E_PROFILER_ALREADY_ACTIVE" },
    { code = "0xFFFFFFFF", name = "setenv failed (-1)" }
  }
}

-- The grammar, by name and by code.
local function by(key, rows)
    local found = {}
    for _, row in ipairs(rows) do found[row[key]] = row end
    return found
end
local kinds, structs, faults = by("name", grammar.kinds), by("name", grammar.structs), by("name", grammar.faults)
local replies, commands, code_names, hresults = by("name", grammar.replies), {}, {}, {}
for _, command in ipairs(grammar.commands) do
    commands[tonumber(command.code)] = command
    code_names[tonumber(command.code)] = command.name
end
local OK, ERROR = tonumber(grammar.replies[1].code), tonumber(grammar.error.code)
code_names[OK], code_names[ERROR] = "OK", "Error"
for _, row in ipairs(grammar.hresults) do hresults[tonumber(row.code)] = row.name end
local drafts = {}
for _, command in ipairs(grammar.legacy.commands) do drafts[tonumber(command.code)] = command end
local function bytes_of(digits)
    return (digits:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end))
end
local MAGIC, ADVERTISE = bytes_of(grammar.header.magic), bytes_of(grammar.advertise.magic)
local ENTRY = grammar.continuations.environment.entry

-- Filter fields.
local proto = Proto("diagipc", ".NET Diagnostic IPC")
proto.prefs.draft = Pref.bool("Read CollectTracing as in the 2019 draft", false, "Its payload differs; the bytes do not show which one it is.")
local all, declared = {}, {}
local function declare(abbr, name, kind, how, names)
    assert(not declared[abbr], abbr)
    declared[abbr] = kind
    local field = ProtoField.new(name, "diagipc." .. abbr, kind, names, how)
    all[#all + 1] = field
    return field
end
local function snake(name)
    return (name:gsub("([%l%d])(%u)", "%1_%2"):lower():gsub("[^%w_]", "_"))
end
local TYPES = {
    byte = ftypes.UINT8, ushort = ftypes.UINT16, uint = ftypes.UINT32, ulong = ftypes.UINT64, bool = ftypes.BOOLEAN, guid = ftypes.GUID,
    string = ftypes.STRING, bytes = ftypes.BYTES, rest = ftypes.BYTES, hresult = ftypes.UINT32, array = ftypes.UINT32
}
local BASES = { [ftypes.UINT8] = base.DEC, [ftypes.UINT16] = base.DEC, [ftypes.UINT32] = base.DEC, [ftypes.UINT64] = base.DEC_HEX }
local shown = {} -- by the name of a field
local items_shown = {} -- by the name of a field, for numbers in an array; by that of a struct
local function declare_fields(rows)
    for _, row in ipairs(rows) do
        local abbr, kind = snake(row.name), TYPES[row.type] or ftypes.NONE
        if shown[row.name] then
            assert(declared[abbr] == kind, row.name)
        else
            local names = row.type == "hresult" and hresults or row.names
            shown[row.name] = declare(abbr, row.name, kind, row.type == "hresult" and base.HEX or BASES[kind] or base.NONE, names)
            if row.items and kinds[row.items] then
                local of = TYPES[row.items]
                items_shown[row.name] = declare(abbr .. ".item", row.name, of, BASES[of] or base.NONE, row.names)
            end
        end
    end
end
local magic_shown = declare("magic", "magic", ftypes.STRING, base.NONE)
declare_fields(grammar.header.fields)
for _, row in ipairs(grammar.structs) do
    declare_fields(row.fields)
    items_shown[row.name] = declare(snake(row.name), row.name, ftypes.NONE, base.NONE)
end
for _, rows in ipairs { grammar.commands, grammar.replies, { grammar.error, grammar.advertise }, grammar.legacy.commands, grammar.continuations.nettrace.starts } do
    for _, row in ipairs(rows) do declare_fields(row.fields or {}) end
end
local f = {
    code = declare("command", "command", ftypes.UINT16, base.HEX, code_names),
    answers = declare("answers", "answers", ftypes.UINT16, base.HEX, code_names),
    payload = declare("payload", "payload", ftypes.BYTES, base.NONE),
    rest = declare("not_decoded", "not decoded", ftypes.BYTES, base.NONE),
    absent = declare("absent", "absent", ftypes.STRING, base.NONE),
    leniency = declare("leniency", "leniency", ftypes.STRING, base.NONE),
    fault = declare("fault", "fault", ftypes.STRING, base.NONE),
    fault_layer = declare("fault.layer", "layer", ftypes.STRING, base.NONE),
    fault_offset = declare("fault.offset", "offset", ftypes.UINT32, base.DEC),
    fault_field = declare("fault.field", "field", ftypes.STRING, base.NONE),
    fault_answer = declare("fault.answer", "a server answers", ftypes.UINT32, base.HEX, hresults),
    packet_version = declare("packet.version", "version of the pseudo-header", ftypes.UINT8, base.DEC),
    event = declare("packet.event", "event", ftypes.UINT8, base.DEC, { [0] = "opened", "data", "ended" }),
    side = declare("side", "side", ftypes.UINT8, base.DEC, { [0] = "client", "runtime" }),
    ending = declare("ending", "ending", ftypes.UINT8, base.DEC, { [0] = "sends no more", "closed", "closed with bytes unread" }),
    connection = declare("connection", "connection", ftypes.UINT32, base.DEC),
    descriptor = declare("descriptor", "descriptor", ftypes.UINT8, base.DEC, { [0] = "other", "pipe", "user_events_data" }),
    request_in = declare("request_in", "request in", ftypes.FRAMENUM, base.NONE),
    reply_in = declare("reply_in", "reply in", ftypes.FRAMENUM, base.NONE),
    whole_in = declare("whole_in", "whole in", ftypes.FRAMENUM, base.NONE),
    part_in = declare("part_in", "part in", ftypes.FRAMENUM, base.NONE),
    time = declare("time", "time from request to reply", ftypes.RELATIVE_TIME, base.NONE),
    part = declare("part", "part of a message", ftypes.BYTES, base.NONE),
    stream = declare("stream", "event stream", ftypes.BYTES, base.NONE),
    stream_offset = declare("stream.offset", "offset in the stream", ftypes.UINT64, base.DEC),
    stream_start = declare("stream.start", "start of the stream", ftypes.STRING, base.NONE),
    environment = declare("environment", "environment", ftypes.UINT32, base.DEC),
    entry = declare("environment.entry", "entry", ftypes.STRING, base.NONE),
    entry_name = declare("environment.name", "name", ftypes.STRING, base.NONE),
    entry_value = declare("environment.value", "value", ftypes.STRING, base.NONE),
    unterminated = declare("environment.unterminated", "without NUL", ftypes.BOOLEAN, base.NONE)
}
proto.fields = all
local experts = {
    malformed = ProtoExpert.new("diagipc.malformed", "malformed", expert.group.MALFORMED, expert.severity.ERROR),
    refused = ProtoExpert.new("diagipc.refused", "a server refuses it", expert.group.PROTOCOL, expert.severity.WARN),
    error = ProtoExpert.new("diagipc.error", "an error reply", expert.group.RESPONSE_CODE, expert.severity.NOTE),
    unknown = ProtoExpert.new("diagipc.unknown_command", "an unknown command", expert.group.UNDECODED, expert.severity.NOTE),
    lenient = ProtoExpert.new("diagipc.lenient", "accepted, but should not be sent", expert.group.PROTOCOL, expert.severity.NOTE)
}
proto.experts = { experts.malformed, experts.refused, experts.error, experts.unknown, experts.lenient }

-- Numbers and texts. Offsets count from 0.
local function number_at(bytes, at, width)
    local number = 0
    for i = width, 1, -1 do number = number * 256 + bytes:byte(at + i) end
    return number
end
local function utf8_of(point)
    if point < 0x80 then return string.char(point) end
    local tail, first = "", { 0xC0, 0xE0, 0xF0 }
    local more = point < 0x800 and 1 or point < 0x10000 and 2 or 3
    for _ = 1, more do
        tail = string.char(0x80 + point % 64) .. tail
        point = math.floor(point / 64)
    end
    return string.char(first[more] + point) .. tail
end
-- UTF-16 text. What cannot be shown (NUL and other controls, half a pair) is shown as \u{0}.
local function text_at(bytes, at, count)
    local parts, i = {}, 0
    while i < count do
        local unit = number_at(bytes, at + 2 * i, 2)
        local next_unit = i + 1 < count and number_at(bytes, at + 2 * i + 2, 2) or 0
        if unit >= 0xD800 and unit < 0xDC00 and next_unit >= 0xDC00 and next_unit < 0xE000 then
            parts[#parts + 1] = utf8_of(0x10000 + (unit - 0xD800) * 0x400 + next_unit - 0xDC00)
            i = i + 1
        elseif unit < 0x20 or unit >= 0x7F and unit < 0xA0 or unit >= 0xD800 and unit < 0xE000 or unit >= 0xFFFE then
            parts[#parts + 1] = "\\u{" .. string.format("%X", unit) .. "}"
        else
            parts[#parts + 1] = utf8_of(unit)
        end
        i = i + 1
    end
    return table.concat(parts)
end
-- The index of the first available byte that differs from the magic; nil if none does.
local function mismatch(bytes, at, magic)
    for i = 1, math.min(#magic, #bytes - at) do
        if bytes:byte(at + i) ~= magic:byte(i) then return i - 1 end
    end
end

-- Reading. A node is a field that was read; a fault says what is wrong, where, and in which field.
local function fault_of(name, at, path)
    return { name = name, at = at, path = path, row = faults[name] }
end
local function is_there(row, nodes, answers, left)
    local when = row.when
    if row.type == "rest" and left == 0 then return false end
    if not when then return true end
    if when.bytesLeft and left == 0 then return false end
    if when.answers then
        local found = false
        for _, name in ipairs(when.answers) do found = found or name == answers end
        if not found then return false end
    end
    return not when.field or nodes.values[when.field] == when.is
end
local function least_of(name)
    local kind = kinds[name]
    return structs[name] and structs[name].least or kind.bytes or kinds[kind.count].bytes
end
local read_fields
local function read_value(node, type_name, items, reader, path)
    if structs[type_name] then
        node.inner = { values = {} }
        return read_fields(structs[type_name].fields, reader, path .. ".", node.inner)
    end
    local kind, left = kinds[type_name], reader.stop - reader.at
    local width = kind.bytes or kind.count and kinds[kind.count].bytes or 0
    if left < width then return fault_of("unexpected_end", reader.at, path) end
    if width > 0 and width <= 4 then node.value = number_at(reader.bytes, reader.at, width) end
    node.count = not kind.bytes and (kind.count and node.value or left) or nil
    left = left - width
    local unit = kind.unit or type_name == "array" and least_of(items) or 1
    if node.count and node.count * unit > left then return fault_of("count_too_large", reader.at, path) end
    reader.at = reader.at + width
    if type_name == "array" then
        node.items = {}
        for i = 0, node.count - 1 do
            local item = { at = reader.at }
            node.items[#node.items + 1] = item
            local fault = read_value(item, items, nil, reader, path .. "[" .. i .. "]")
            item.size = reader.at - item.at
            if fault then return fault end
        end
    elseif node.count then
        node.data = reader.at
        reader.at = reader.at + node.count * unit
        if kind.last and node.count > 0 and number_at(reader.bytes, reader.at - unit, unit) ~= kind.last then
            return fault_of("missing_terminator", reader.at - unit, path)
        end
    end
end
read_fields = function(rows, reader, path, nodes, answers)
    for _, row in ipairs(rows) do
        if is_there(row, nodes, answers, reader.stop - reader.at) then
            local node = { row = row, at = reader.at }
            local fault = read_value(node, row.type, row.items, reader, path .. row.name)
            if not fault and row.only then
                fault = fault_of("unknown_session_type", node.at, path .. row.name)
                for _, number in ipairs(row.only) do
                    if number == node.value then fault = nil end
                end
            end
            node.size = reader.at - node.at
            if node.size > 0 or row.type == "rest" then nodes[#nodes + 1] = node end
            if fault then return fault end
            nodes.values[row.name] = node.value
            nodes.values["/" .. row.name] = node
        end
    end
end

-- Limits: what decodes but is refused by a server.
local function utf8_size(bytes, at, count)
    local size, i = 0, 0
    while i < count do
        local unit = number_at(bytes, at + 2 * i, 2)
        local next_unit = i + 1 < count and number_at(bytes, at + 2 * i + 2, 2) or 0
        if unit >= 0xD800 and unit < 0xDC00 and next_unit >= 0xDC00 and next_unit < 0xE000 then
            size, i = size + 4, i + 1
        else
            size = size + (unit < 0x80 and 1 or unit < 0x800 and 2 or 3)
        end
        i = i + 1
    end
    return size
end
local function measure(limit, node, bytes)
    if limit.of == "value" then return node.value end
    if limit.of == "count" then return node.count end
    if limit.of == "countOfAll" then
        local sum = 0
        for _, name in ipairs(limit.fields) do sum = sum + node.inner.values["/" .. name].count end
        return sum
    end
    local units, visible = 0, 0
    while units < node.count do
        local unit = number_at(bytes, node.data + 2 * units, 2)
        if unit == 0 then break end
        if unit ~= 32 and (unit < 9 or unit > 13) then visible = visible + 1 end
        units = units + 1
    end
    return limit.of == "visibleBeforeNul" and visible or utf8_size(bytes, node.data, units)
end
local function is_within(limit, node, bytes)
    local measured = measure(limit, node, bytes)
    for _, range in ipairs(limit.ranges) do
        if range[1] <= measured and measured <= range[2] then return true end
    end
    return false
end
local function repeated(limit, node, path)
    local seen, outer, inner = {}, limit.fields[1], limit.fields[2]
    for i, item in ipairs(node.inner.values["/" .. outer].items) do
        for k, number in ipairs(item.inner.values["/" .. inner].items) do
            if seen[number.value] then
                return fault_of(limit.fault, number.at, string.format("%s.%s[%d].%s[%d]", path, outer, i - 1, inner, k - 1))
            end
            seen[number.value] = true
        end
    end
end
-- A server registers tracepoints when it has accepted all else.
local of_registration = { duplicate_event_id = true, tracepoint_name_too_long = true }
local function broken(nodes, bytes, path, is_registration)
    local function is_due(limit) return (of_registration[limit.fault] or false) == is_registration end
    for _, node in ipairs(nodes) do
        local row, name = node.row, path .. node.row.name
        for _, limit in ipairs(row.limits or {}) do
            if is_due(limit) and not is_within(limit, node, bytes) then return fault_of(limit.fault, node.at, name) end
        end
        local struct = structs[row.items or row.type]
        for i, item in ipairs(struct and (node.items or { node }) or {}) do
            local where = node.items and name .. "[" .. (i - 1) .. "]" or name
            for _, limit in ipairs(struct.limits or {}) do
                if is_due(limit) and limit.of ~= "distinct" and not is_within(limit, item, bytes) then
                    return fault_of(limit.fault, item.at, where)
                end
            end
            local fault = broken(item.inner, bytes, where .. ".", is_registration)
            for _, limit in ipairs(struct.limits or {}) do
                if is_due(limit) and not fault and limit.of == "distinct" then fault = repeated(limit, item, where) end
            end
            if fault then return fault end
        end
    end
end

-- Messages.
local function leniencies(unit, nodes, bytes)
    for _, node in ipairs(nodes) do
        if node.row and node.row.type == "bool" and node.value > 1 then unit.lenient[#unit.lenient + 1] = { "bool", node.at, node.size } end
        if node.inner then leniencies(unit, node.inner, bytes) end
        for _, item in ipairs(node.items or {}) do
            if item.inner then leniencies(unit, item.inner, bytes) end
        end
    end
end
-- Reads the fields of a unit, which has `bytes`, from `at` on; bytes after them are accepted and not read.
local function read_payload(unit, rows, at, path, answers)
    local reader = { bytes = unit.bytes, at = at, stop = #unit.bytes }
    unit.nodes = { values = {} }
    unit.fault = read_fields(rows, reader, path .. ".", unit.nodes, answers)
    leniencies(unit, unit.nodes, unit.bytes)
    unit.read = reader.at
    if not unit.fault and reader.at < reader.stop then
        unit.lenient[#unit.lenient + 1] = { "trailing_bytes", reader.at, reader.stop - reader.at }
    end
end
local function short(name) return name:match("[^/]*$") end
local function read_header(unit)
    unit.code = unit.bytes:byte(#MAGIC + 3) * 256 + unit.bytes:byte(#MAGIC + 4)
    unit.lenient = {}
    if number_at(unit.bytes, #MAGIC + 4, 2) ~= 0 then unit.lenient[1] = { "reserved", #MAGIC + 4, 2 } end
end
local function read_request(unit)
    read_header(unit)
    unit.command = commands[unit.code]
    local draft = proto.prefs.draft and drafts[unit.code]
    if unit.command then
        read_payload(unit, (draft or unit.command).fields, grammar.header.bytes, short(unit.command.name))
        if not unit.fault and not draft then
            local root = short(unit.command.name) .. "."
            unit.refused = broken(unit.nodes, unit.bytes, root, false) or broken(unit.nodes, unit.bytes, root, true)
        end
    end
end
local function read_reply(unit, request)
    read_header(unit)
    local command = request and request.command
    unit.request, unit.answers = request, command
    if unit.code == ERROR then
        read_payload(unit, grammar.error.fields, grammar.header.bytes, "Error", command and command.name)
        unit.hresult = unit.nodes.values.hresult
    elseif unit.code ~= OK then
        local at = math.floor(unit.code / 256) == math.floor(OK / 256) and 1 or 0
        unit.fault = fault_of("not_a_reply", #MAGIC + 2 + at, at == 0 and "header.command_set" or "header.command_id")
    elseif command and #unit.bytes == grammar.header.bytes then
        unit.lenient[#unit.lenient + 1] = { "generic_ok", 0, #unit.bytes }
    elseif command then
        read_payload(unit, replies[command.reply].fields, grammar.header.bytes, short(command.name))
        unit.hresult = unit.nodes.values.hresult
    end
end
local function continuation_of(request)
    for _, one in ipairs(request and request.command and request.command.continuation or {}) do
        local values = request.nodes and request.nodes.values or {}
        if not one.when or values[one.when.field] == one.when.is then return one.name end
    end
    return "close"
end

-- Environment blocks.
local function is_error_at(bytes, at)
    return #bytes - at >= grammar.header.bytes + 4 and bytes:sub(at + 1, at + #MAGIC) == MAGIC and number_at(bytes, at + #MAGIC, 2) >= grammar.header.bytes + 4
        and bytes:byte(at + #MAGIC + 3) * 256 + bytes:byte(at + #MAGIC + 4) == ERROR
end
local function read_environment(unit)
    local bytes, at = unit.bytes, 0
    unit.entries = {}
    local function count_at(least, path)
        if is_error_at(bytes, at) then
            unit.error_at = at
            return nil, { name = "error_message", at = at, path = path, row = { layer = "reply" } }
        end
        if #bytes - at < 4 then return nil, fault_of("unexpected_end", at, path) end
        local count = number_at(bytes, at, 4)
        if count * least > #bytes - at - 4 then return nil, fault_of("count_too_large", at, path) end
        at = at + 4
        return count
    end
    unit.count, unit.fault = count_at(ENTRY.least, "environment")
    for i = 0, (unit.count or 0) - 1 do
        local start = at
        local count, fault = count_at(ENTRY.unit, "environment[" .. i .. "]")
        if fault then
            unit.fault = fault
            return
        end
        local entry = { at = start, size = 4 + count * 2, data = at, units = count }
        entry.terminated = count > 0 and number_at(bytes, at + count * 2 - 2, 2) == ENTRY.last
        if entry.terminated then entry.units = count - 1 end
        for k = 1, entry.units - 1 do
            if not entry.split and number_at(bytes, at + 2 * k, 2) == ENTRY.split then entry.split = k end
        end
        unit.entries[#unit.entries + 1] = entry
        at = at + count * 2
    end
    if not unit.fault and at < #bytes then unit.fault = fault_of("bytes_after_message", at, "environment") end
end

-- Conversations. An incomplete message of a side is `pending`; units are what packets show.
local connections, packets
function proto.init()
    connections, packets = {}, {}
end
local function new_side(is_client)
    return { is_client = is_client, state = "start", pending = "", parts = {}, messages = 0, total = 0 }
end
local function asked(connection, unit, packet)
    local request = { command = unit.command, nodes = unit.nodes, frame = packet.number, time = packet.time }
    connection.requests[#connection.requests + 1] = request
    return request
end
local STREAMS = grammar.continuations.nettrace.starts
-- The kind of a stream, by its first bytes; nil if more are needed.
local function start_of(bytes)
    local needs_more = false
    for _, start in ipairs(STREAMS) do
        local magic, size = bytes_of(start.bytes), #start.bytes / 2
        for _, row in ipairs(start.fields or {}) do size = size + kinds[row.type].bytes end
        if not mismatch(bytes, 0, magic) then
            if #bytes >= size then return start.name, start, size end
            needs_more = true
        end
    end
    return not needs_more and "opaque" or nil
end
local function lost(side, unit)
    side.state = "lost"
    return unit
end
-- Sizes and magics, in the order of the grammar's checks: a unit and how many bytes it takes, or nothing if more are needed.
local function next_message(connection, side, bytes, packet)
    local wrong = mismatch(bytes, 0, MAGIC)
    local header = grammar.header.bytes
    local unit = { kind = "message", bytes = bytes, lenient = {} }
    if wrong then
        unit.kind, unit.fault = "lost", fault_of("bad_magic", wrong, "header.magic")
    elseif #bytes < header then
        return
    else
        local size = number_at(bytes, #MAGIC, 2)
        if size < header then
            unit.kind, unit.fault = "lost", fault_of("size_too_small", #MAGIC, "header.size")
        elseif #bytes < size then
            return
        else
            unit.bytes = bytes:sub(1, size)
        end
    end
    side.messages = side.messages + 1
    if unit.kind == "lost" then
        if side.is_client then asked(connection, unit, packet) end
        return lost(side, unit), #bytes
    end
    if side.is_client then
        read_request(unit)
        unit.request = asked(connection, unit, packet)
        unit.then_comes = continuation_of(unit)
        side.state = unit.then_comes == "user_events" and not unit.fault and "descriptor" or "over"
    else
        connection.replied = connection.replied + 1
        local request = connection.requests[connection.replied]
        read_reply(unit, request)
        if request and not request.reply then
            request.reply = packet.number
            unit.seconds = packet.time - request.time
        end
        local continues = unit.code == OK and continuation_of(request) or "close"
        side.state = "over"
        if continues == "nettrace" then
            side.state = "stream"
        elseif continues == "environment" and unit.nodes and not unit.fault then
            side.state, side.expected = "environment", unit.nodes.values[grammar.continuations.environment.size]
        end
    end
    side.size = #unit.bytes
    return unit, #unit.bytes
end
local function next_unit(connection, side, bytes, packet)
    if side.state == "start" then
        -- If the start of a connection was not captured, its bytes decide.
        local who_knows = not connection.was_opened and not mismatch(bytes, 0, ADVERTISE)
        local advertises = not side.is_client and (connection.runtime_connects or who_knows)
        side.state = advertises and "advertise" or "message"
    end
    if side.state == "message" then return next_message(connection, side, bytes, packet) end
    if side.state == "advertise" then
        local unit, wrong = { kind = "advertise", bytes = bytes, lenient = {} }, mismatch(bytes, 0, ADVERTISE)
        if wrong then
            unit.kind, unit.fault = "lost", fault_of("bad_magic", wrong, "Advertise.magic")
            return lost(side, unit), #bytes
        end
        if #bytes < grammar.advertise.bytes then return end
        unit.bytes = bytes:sub(1, grammar.advertise.bytes)
        read_payload(unit, grammar.advertise.fields, #ADVERTISE, "Advertise")
        side.state, side.size, side.advertised = "message", #unit.bytes, true
        return unit, #unit.bytes
    end
    if side.state == "stream" then
        -- Always complete in its packet: its bytes are not kept.
        local unit = { kind = "stream", size = #bytes, offset = side.stream or 0, lenient = {} }
        side.stream = unit.offset + #bytes
        if not side.start then
            side.first = (side.first or "") .. bytes:sub(1, 64)
            side.start = start_of(side.first)
            unit.start = side.start
            local _, start, size = start_of(side.first)
            -- Its fields are shown only if they are in this packet.
            if start and unit.offset == 0 then
                unit.nodes = { values = {} }
                read_fields(start.fields or {}, { bytes = bytes, at = #bytes_of(start.bytes), stop = size }, "", unit.nodes)
            end
        end
        return unit, #bytes
    end
    if side.state == "environment" then
        if #bytes < side.expected then return end
        local unit = { kind = "environment", bytes = bytes:sub(1, side.expected), lenient = {} }
        read_environment(unit)
        side.state, side.size = "over", side.expected
        return unit, side.expected
    end
    if side.state == "descriptor" then
        side.state = "over"
        return { kind = "descriptor", bytes = bytes:sub(1, 1), lenient = {} }, 1
    end
    if side.state == "over" and not mismatch(bytes, 0, MAGIC) then
        -- An unexpected second message.
        local size = side.size
        local unit, taken = next_message(connection, side, bytes, packet)
        if unit then unit.after = fault_of("bytes_after_message", size, "payload") end
        return unit, taken
    end
    local unit = { kind = "lost", bytes = bytes, lenient = {} }
    if side.state == "over" then unit.fault = fault_of("bytes_after_message", side.size, side.advertised and side.messages == 0 and "Advertise" or "payload") end
    return lost(side, unit), #bytes
end
-- The units of a side in a packet.
local function feed(connection, side, data, front, packet)
    local bytes, taken_before, at = side.pending .. data, #side.pending, 0
    side.total = side.total + #data
    while at < #bytes or side.state == "environment" and side.expected == 0 do
        -- A runtime that has advertised sends nothing more until a request.
        if side.advertised and side.messages == 0 and not connection.client.has_sent then side.state = "over" end
        local unit, taken = next_unit(connection, side, bytes:sub(at + 1), packet)
        if not unit then break end
        if at >= taken_before then
            unit.at = front + at - taken_before
        else
            unit.parts = side.parts
            for _, part in ipairs(side.parts) do part.whole = packet.number end
        end
        side.parts = {}
        at = at + taken
        packet.units[#packet.units + 1] = unit
    end
    side.pending = bytes:sub(at + 1)
    if #side.pending > 0 then
        local size = math.min(#side.pending, #data)
        local part = { kind = "part", at = front + #data - size, size = size, number = packet.number }
        side.parts[#side.parts + 1] = part
        packet.units[#packet.units + 1] = part
    end
end
-- What is missing when a side ends.
local function at_the_end(connection, side)
    local pending, path = #side.pending, nil
    if side.state == "environment" then
        local unit = { bytes = side.pending }
        read_environment(unit)
        if unit.error_at then return unit.fault end
        return fault_of("end_of_input", pending, "environment")
    elseif side.state == "over" and pending > 0 then
        return fault_of("bytes_after_message", side.size, "payload")
    elseif side.state == "advertise" or side.state == "start" and connection.runtime_connects and not side.is_client then
        path = "Advertise"
    elseif pending > 0 and side.state ~= "lost" then
        path = pending < grammar.header.bytes and "header" or "payload"
    elseif side.messages == 0 and side.state ~= "lost" and (side.is_client or #connection.requests > 0) then
        path = "header"
    end
    return path and fault_of("end_of_input", pending, path)
end

-- Showing.
local function show_fault(tree, range, fault, is_request)
    if not fault then return end
    local layer = fault.row.layer
    local text = string.format("%s at byte %d in %s", fault.name, fault.at, fault.path)
    local item = tree:add(f.fault, range, fault.name):set_generated()
    item:add(f.fault_layer, range, layer):set_generated()
    item:add(f.fault_offset, range, fault.at):set_generated()
    item:add(f.fault_field, range, fault.path):set_generated()
    if is_request and fault.row.answer then item:add(f.fault_answer, range, tonumber(fault.row.answer)):set_generated() end
    item:add_proto_expert_info(layer == "limits" and experts.refused or experts.malformed, (layer == "limits" and "A server refuses it: " or "Malformed: ") .. text)
end
local function show_string(tree, field, name, range, bytes, node, meaning)
    if node.count == 0 then
        local item = tree:add(f.absent, range, name)
        item:set_text(name .. ": absent" .. (meaning and " (" .. meaning .. ")" or ""))
    else
        tree:add(field, range, text_at(bytes, node.data, node.count - 1))
    end
end
local function show(nodes, tree, at, bytes)
    for _, node in ipairs(nodes) do
        local row, range = node.row, at(node.at, node.size)
        local field = shown[row.name]
        if row.type == "array" then
            local item = tree:add(field, range, node.count)
            for i, inner in ipairs(node.items or {}) do
                local part = at(inner.at, inner.size)
                if inner.inner then
                    local struct = item:add(items_shown[row.items], part)
                    struct:append_text(" [" .. (i - 1) .. "]")
                    show(inner.inner, struct, at, bytes)
                elseif inner.value then
                    item:add_le(items_shown[row.name], part)
                end
            end
        elseif node.inner then
            show(node.inner, tree:add(field, range), at, bytes)
        elseif row.type == "string" then
            if node.data then show_string(tree, field, row.name, range, bytes, node, row.absent) end
        elseif row.type == "bytes" or row.type == "rest" then
            if node.data and node.count > 0 then
                tree:add(field, at(node.data, node.count))
            elseif node.data then
                tree:add(field, range, ""):set_text(row.name .. ": no bytes")
            end
        elseif row.type == "bool" then
            tree:add(field, range, node.value ~= 0)
        else
            local item = tree:add_le(field, range)
            if row.bits then
                local names = {}
                for bit, name in pairs(row.names or {}) do
                    if math.floor(node.value / bit) % 2 == 1 then names[#names + 1] = name end
                end
                table.sort(names)
                item:set_text(string.format("%s: 0x%08X (%s)", row.name, node.value, table.concat(names, ", ")))
            elseif row.unit then
                item:append_text(" " .. row.unit)
            end
        end
    end
end
local function show_environment(unit, tree, at)
    local item = tree:add(f.environment, at(0, #unit.bytes), unit.count or 0)
    for _, entry in ipairs(unit.entries) do
        local range = at(entry.at, entry.size)
        local inner = item:add(f.entry, range, text_at(unit.bytes, entry.data, entry.units))
        inner:add(f.entry_name, range, text_at(unit.bytes, entry.data, entry.split or entry.units))
        if entry.split then inner:add(f.entry_value, range, text_at(unit.bytes, entry.data + 2 * entry.split + 2, entry.units - entry.split - 1)) end
        if not entry.terminated then inner:add(f.unterminated, range, true) end
    end
    if unit.error_at then
        local from = unit.error_at
        item:add(magic_shown, at(from, #MAGIC), grammar.protocol)
        item:add(f.code, at(from + #MAGIC + 2, 2))
        item:add_le(shown.hresult, at(from + grammar.header.bytes, 4))
    end
end
local function hresult_text(number)
    return hresults[number] or string.format("0x%08X", number)
end
local function describe(unit, side)
    if unit.kind == "message" and side.is_client then
        return unit.command and unit.command.name or string.format("command 0x%04X", unit.code)
    elseif unit.kind == "message" then
        local name = unit.answers and " to " .. unit.answers.name or ""
        local result = unit.hresult and (unit.hresult ~= 0 or unit.code == ERROR) and ": " .. hresult_text(unit.hresult) or ""
        return (unit.code == OK and "OK" or unit.code == ERROR and "Error" or string.format("0x%04X", unit.code)) .. name .. result
    elseif unit.kind == "advertise" then return "Advertise"
    elseif unit.kind == "stream" then return "event stream, " .. unit.size .. " bytes" .. (unit.start and " (" .. unit.start .. ")" or "")
    elseif unit.kind == "environment" then return "environment, " .. (unit.count or 0) .. " entries"
    elseif unit.kind == "descriptor" then return "descriptor"
    elseif unit.kind == "part" then return unit.size .. " bytes of a message"
    end
    return #unit.bytes .. " bytes"
end
local function show_unit(unit, side, tree, tvb)
    if unit.kind == "part" then
        local item = tree:add(f.part, tvb(unit.at, unit.size))
        if unit.whole then item:add(f.whole_in, unit.whole):set_generated() end
        return
    end
    local whole = unit.at and tvb or ByteArray.new(unit.bytes, true):tvb("Reassembled")
    local function at(offset, size) return whole:range((unit.at or 0) + offset, size) end
    local size = unit.size or #unit.bytes
    local item = tree:add(proto, at(0, size), describe(unit, side))
    for _, part in ipairs(unit.parts or {}) do item:add(f.part_in, part.number):set_generated() end
    show_fault(item, at(0, size), unit.after, false)
    if unit.kind == "message" then
        item:add(magic_shown, at(0, #MAGIC), grammar.protocol)
        local header = { values = {} }
        read_fields(grammar.header.fields, { bytes = unit.bytes, at = #MAGIC, stop = grammar.header.bytes }, "", header)
        show(header, item, at, unit.bytes)
        item:add(f.code, at(#MAGIC + 2, 2)):set_generated()
        if unit.answers then item:add(f.answers, tonumber(unit.answers.code)):set_generated() end
        if side.is_client and unit.request.reply then item:add(f.reply_in, unit.request.reply):set_generated() end
        if not side.is_client and unit.request then item:add(f.request_in, unit.request.frame):set_generated() end
        if unit.seconds then
            local whole_seconds = math.floor(unit.seconds)
            item:add(f.time, NSTime.new(whole_seconds, math.floor((unit.seconds - whole_seconds) * 1e9 + 0.5))):set_generated()
        end
        if not unit.nodes and #unit.bytes > grammar.header.bytes then
            item:add(f.payload, at(grammar.header.bytes, #unit.bytes - grammar.header.bytes))
        end
        if side.is_client and not unit.command then item:add_proto_expert_info(experts.unknown, "Unknown: a server answers DS_IPC_E_UNKNOWN_COMMAND") end
        if unit.code == ERROR and not side.is_client and unit.hresult then item:add_proto_expert_info(experts.error, "Error: " .. hresult_text(unit.hresult)) end
    elseif unit.kind == "advertise" then
        item:add(magic_shown, at(0, #ADVERTISE), (ADVERTISE:gsub("%z", "")))
    elseif unit.kind == "stream" then
        item:add(f.stream, at(0, size))
        item:add(f.stream_offset, UInt64(unit.offset)):set_generated()
        if unit.start then item:add(f.stream_start, unit.start):set_generated() end
    elseif unit.kind == "environment" then
        show_environment(unit, item, at)
    elseif unit.kind == "lost" then
        item:add(f.rest, at(0, size))
    end
    if unit.nodes then
        show(unit.nodes, item, at, unit.bytes)
        if unit.fault and unit.read and unit.read < size then item:add(f.rest, at(unit.read, size - unit.read)) end
    end
    for _, lenient in ipairs(unit.lenient) do
        local taken = item:add(f.leniency, at(lenient[2], lenient[3]), lenient[1]):set_generated()
        taken:add_proto_expert_info(experts.lenient, "Accepted, but should not be sent: " .. lenient[1])
    end
    show_fault(item, at(0, size), unit.fault, side.is_client)
    show_fault(item, at(0, size), unit.refused, side.is_client)
end

-- A packet: the pseudo-header of spec/GRAMMAR.md, and the sent bytes.
local interface_id = Field.new("frame.interface_id")
local PACKET, PSEUDO = "DIPC", 12
local OPENED, DATA, ENDED = 0, 1, 2
function proto.dissector(tvb, pinfo, root)
    if tvb:len() < PSEUDO or tvb(0, #PACKET):raw() ~= PACKET or tvb(4, 1):uint() ~= 1 then return 0 end
    local event, from, detail, number = tvb(5, 1):uint(), tvb(6, 1):uint(), tvb(7, 1):uint(), tvb(8, 4):le_uint()
    local front = PSEUDO + (event == DATA and detail or 0)
    if front > tvb:len() then return 0 end
    if not pinfo.visited then
        local interface = interface_id()
        local key = (interface and interface.value or 0) .. "/" .. number
        local connection = connections[key]
        if not connection or event == OPENED then
            connection = { requests = {}, replied = 0, client = new_side(true), runtime = new_side(false) }
            connection.was_opened, connection.runtime_connects = event == OPENED, event == OPENED and from == 1
            connections[key] = connection
        end
        local side = from == 0 and connection.client or connection.runtime
        local packet = { number = pinfo.number, time = pinfo.rel_ts, units = {}, side = side }
        packets[pinfo.number] = packet
        if event == DATA and front < tvb:len() then
            if side.is_client then side.has_sent = true end
            feed(connection, side, tvb(front):raw(), front, packet)
        elseif event == ENDED and not side.ended then
            side.ended = true
            packet.fault = at_the_end(connection, side)
        end
    end
    local packet = packets[pinfo.number]
    local who = from == 0 and "client" or "runtime"
    pinfo.cols.protocol = "DIAGIPC"
    pinfo.cols.src = who .. " #" .. number
    pinfo.cols.dst = (from == 0 and "runtime" or "client") .. " #" .. number
    local tree = root:add(proto, tvb(), ".NET Diagnostic IPC, connection " .. number .. ", " .. who)
    local pseudo = tree:add(proto, tvb(0, front), "Packet")
    pseudo:add(f.packet_version, tvb(4, 1))
    pseudo:add(f.event, tvb(5, 1))
    pseudo:add(f.side, tvb(6, 1))
    if event == ENDED then pseudo:add(f.ending, tvb(7, 1)) end
    pseudo:add_le(f.connection, tvb(8, 4))
    local texts = {}
    if event == DATA then
        for i = 1, detail do pseudo:add(f.descriptor, tvb(PSEUDO + i - 1, 1)) end
        if detail > 0 then texts[1] = "with a descriptor" end
    elseif event == OPENED then
        texts[1] = from == 0 and "the client connects" or "the runtime connects"
    elseif event == ENDED then
        texts[1] = who .. ({ [0] = " sends no more", " closed", " closed with bytes unread" })[detail]
        show_fault(tree, tvb(0, front), packet.fault, from == 0)
        if packet.fault then texts[2] = "[" .. packet.fault.name .. "]" end
    end
    for _, unit in ipairs(packet.units) do
        show_unit(unit, packet.side, tree, tvb)
        texts[#texts + 1] = describe(unit, packet.side)
        for _, fault in ipairs { unit.after or false, unit.fault or false, unit.refused or false } do
            if fault then texts[#texts + 1] = "[" .. fault.name .. " in " .. fault.path .. "]" end
        end
    end
    pinfo.cols.info = table.concat(texts, ", ")
    return tvb:len()
end
DissectorTable.get("wtap_encap"):add(wtap.USER0, proto)
