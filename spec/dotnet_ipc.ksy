# Printed by `diagipc grammar --format ksy` of dotnet-diagnostics-ipc. Do not edit.
meta:
  id: dotnet_ipc
  title: .NET Diagnostic IPC Protocol (DOTNET_IPC_V1)
  license: MIT OR Apache-2.0
  ks-version: '0.11'
  endian: le
doc: |
  The messages with which tools ask a .NET process for traces, dumps and more, over a Unix domain socket or a named pipe.

  A file with exactly one message is read directly: the header, and the payload of a request by its command. The type of a reply
  is not in its bytes: `reply(code)` reads the reply to the request with that code (0x0404). `message` and `reply` do not read the
  bytes after the message, which may be an event stream or an `environment_block`. The first message of a runtime that connects to
  a port is an `advertise`.

  Reading fails on what the grammar does not allow: another magic, a size that is too small, a count larger than the rest, a string
  without NUL at its end, an unknown session type, bytes after the message. What it allows but a server refuses is read: a `fault_…`
  of the part with the wrong field is then true.
  One fault is not detected: an event id that is in two tracepoints of one provider (`duplicate_event_id`).

  A string of count 0 is absent; an empty one has count 1. `text.value` is decoded on access; use `text.units` for text that is not
  valid Unicode (JavaScript also removes a U+FEFF at the start of the value). In a language without 64-bit integers (JavaScript), use
  `low` and `high` of a `ulong` instead of `value`.
doc-ref: https://github.com/dotnet/diagnostics/blob/main/documentation/design-docs/ipc-protocol.md
seq:
  - id: message
    type: message
  - id: following
    size-eos: true
    valid:
      expr: following.length == 0
    doc: Nothing, because the file has only one message. `message` reads one with bytes after it.
types:
  message:
    doc: A request, or a reply whose payload is not decoded.
    seq:
      - id: header
        type: header
      - id: payload
        size: header.size - 20
        type:
          switch-on: header.code
          cases:
            0x0101: generate_core_dump_request
            0x0102: generate_core_dump2_request
            0x0103: generate_core_dump3_request
            0x0201: stop_tracing_request
            0x0202: collect_tracing_request
            0x0203: collect_tracing2_request
            0x0204: collect_tracing3_request
            0x0205: collect_tracing4_request
            0x0206: collect_tracing5_request
            0x0207: collect_tracing6_request
            0x0301: attach_profiler_request
            0x0302: startup_profiler_request
            0x0400: no_fields
            0x0401: no_fields
            0x0402: no_fields
            0x0403: set_environment_variable_request
            0x0404: no_fields
            0x0405: enable_perf_map_request
            0x0406: no_fields
            0x0407: apply_startup_hook_request
            0x0408: no_fields
            0xFFFF: error_payload(0)
  reply:
    doc: The answer to a request. One without payload is an OK to any command.
    params:
      - id: answers
        type: u2
        doc: The code of the request, as 0x0404.
    seq:
      - id: header
        type: header
      - id: is_reply
        size: 0
        valid:
          expr: header.code == 0xFF00 or header.code == 0xFFFF
      - id: payload
        size: header.size - 20
        type:
          switch-on: 'header.code == 0xFFFF ? 0xFFFF : answers'
          cases:
            0x0101: result_reply
            0x0102: result_reply
            0x0103: result_reply
            0x0201: session_reply
            0x0202: session_reply
            0x0203: session_reply
            0x0204: session_reply
            0x0205: session_reply
            0x0206: session_reply
            0x0207: session_reply
            0x0301: result_reply
            0x0302: result_reply
            0x0400: process_info_reply
            0x0401: result_reply
            0x0402: process_environment_reply
            0x0403: result_reply
            0x0404: process_info2_reply
            0x0405: result_reply
            0x0406: result_reply
            0x0407: result_reply
            0x0408: process_info3_reply
            0xFFFF: error_payload(answers)
        if: header.size > 20 or header.code == 0xFFFF
  draft_request:
    doc: A request of the 2019 draft, where a command had other fields.
    seq:
      - id: header
        type: header
      - id: payload
        size: header.size - 20
        type:
          switch-on: header.code
          cases:
            0x0202: draft_collect_tracing_request
  header:
    seq:
      - id: magic
        contents: [68, 79, 84, 78, 69, 84, 95, 73, 80, 67, 95, 86, 49, 0]
      - id: size
        type: u2
        valid:
          min: 20
      - id: command_set
        type: u1
      - id: command_id
        type: u1
      - id: reserved
        type: u2
    instances:
      code:
        value: command_set << 8 | command_id
      command:
        value: command_set << 8 | command_id
        enum: command
  advertise:
    doc: The first message of a runtime that connects to a port.
    seq:
      - id: magic
        contents: [65, 68, 86, 82, 95, 86, 49, 0]
      - id: runtime_cookie
        -orig-id: runtimeCookie
        type: guid
      - id: process_id
        -orig-id: processId
        type: ulong
        size: 8
      - id: future
        type: u2
  no_fields:
    doc: A payload without fields. Its bytes are ignored.
    seq: []

  # The payloads of requests.
  generate_core_dump_request:
    doc: ".NET 3.1"
    seq:
      - id: dump_name
        -orig-id: dumpName
        type: utf16_string
        doc: "absent: must be refused; released runtimes die of it (F-72); empty: accepted; the runtime chooses the place (F-126)"
      - id: dump_type
        -orig-id: dumpType
        type: u4
        enum: dump_type
      - id: diagnostics
        type: u4
    instances:
      fault_absent_name:
        value: dump_name.count < 1
      fault_unknown_dump_type:
        value: dump_type.to_i < 1 or dump_type.to_i > 4
  generate_core_dump2_request:
    doc: ".NET 6.0"
    seq:
      - id: dump_name
        -orig-id: dumpName
        type: utf16_string
        doc: "absent: must be refused; released runtimes die of it (F-72); empty: accepted; the runtime chooses the place (F-126)"
      - id: dump_type
        -orig-id: dumpType
        type: u4
        enum: dump_type
      - id: flags
        type: u4
        doc: "bits: 1 Logging, 2 VerboseLogging, 4 CrashReport"
    instances:
      fault_absent_name:
        value: dump_name.count < 1
      fault_unknown_dump_type:
        value: dump_type.to_i < 1 or dump_type.to_i > 4
  generate_core_dump3_request:
    doc: ".NET 7.0"
    seq:
      - id: dump_name
        -orig-id: dumpName
        type: utf16_string
        doc: "absent: must be refused; released runtimes die of it (F-72); empty: accepted; the runtime chooses the place (F-126)"
      - id: dump_type
        -orig-id: dumpType
        type: u4
        enum: dump_type
      - id: flags
        type: u4
        doc: "bits: 1 Logging, 2 VerboseLogging, 4 CrashReport"
    instances:
      fault_absent_name:
        value: dump_name.count < 1
      fault_unknown_dump_type:
        value: dump_type.to_i < 1 or dump_type.to_i > 4
  stop_tracing_request:
    doc: ".NET 3.1"
    seq:
      - id: session_id
        -orig-id: sessionId
        type: ulong
        size: 8
  collect_tracing_request:
    doc: ".NET 3.1"
    seq:
      - id: circular_buffer_mb
        -orig-id: circularBufferMB
        type: u4
        doc: "in MB"
      - id: format
        type: u4
        enum: format
      - id: providers
        type: provider_config_array
    instances:
      fault_zero_buffer:
        value: circular_buffer_mb < 1
      fault_unknown_format:
        value: format.to_i > 1
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
  collect_tracing2_request:
    doc: ".NET 3.1"
    seq:
      - id: circular_buffer_mb
        -orig-id: circularBufferMB
        type: u4
        doc: "in MB"
      - id: format
        type: u4
        enum: format
      - id: request_rundown
        -orig-id: requestRundown
        type: flag
      - id: providers
        type: provider_config_array
    instances:
      fault_zero_buffer:
        value: circular_buffer_mb < 1
      fault_unknown_format:
        value: format.to_i > 1
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
  collect_tracing3_request:
    doc: ".NET 9.0"
    seq:
      - id: circular_buffer_mb
        -orig-id: circularBufferMB
        type: u4
        doc: "in MB"
      - id: format
        type: u4
        enum: format
      - id: request_rundown
        -orig-id: requestRundown
        type: flag
      - id: request_stackwalk
        -orig-id: requestStackwalk
        type: flag
      - id: providers
        type: provider_config_array
    instances:
      fault_zero_buffer:
        value: circular_buffer_mb < 1
      fault_unknown_format:
        value: format.to_i > 1
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
  collect_tracing4_request:
    doc: ".NET 9.0"
    seq:
      - id: circular_buffer_mb
        -orig-id: circularBufferMB
        type: u4
        doc: "in MB"
      - id: format
        type: u4
        enum: format
      - id: rundown_keyword
        -orig-id: rundownKeyword
        type: ulong
        size: 8
      - id: request_stackwalk
        -orig-id: requestStackwalk
        type: flag
      - id: providers
        type: provider_config_array
    instances:
      fault_zero_buffer:
        value: circular_buffer_mb < 1
      fault_unknown_format:
        value: format.to_i > 1
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
  collect_tracing5_request_streaming:
    seq:
      - id: streaming_circular_buffer_mb
        -orig-id: streaming_circularBufferMB
        type: u4
        doc: "in MB"
      - id: streaming_format
        type: u4
        enum: streaming_format
      - id: rundown_keyword
        -orig-id: rundownKeyword
        type: ulong
        size: 8
      - id: request_stackwalk
        -orig-id: requestStackwalk
        type: flag
      - id: providers
        type: streaming_provider_config_array
    instances:
      fault_zero_buffer:
        value: streaming_circular_buffer_mb < 1
      fault_unknown_format:
        value: streaming_format.to_i > 1
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
  collect_tracing5_request_user_events:
    seq:
      - id: rundown_keyword
        -orig-id: rundownKeyword
        type: ulong
        size: 8
      - id: providers
        type: user_events_provider_config_array
    instances:
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
  collect_tracing5_request:
    doc: ".NET 10.0"
    seq:
      - id: session_type
        type: u4
        enum: session_type
        valid:
          any-of: ["session_type::streaming", "session_type::user_events"]
      - id: body
        type:
          switch-on: session_type
          cases:
            "session_type::streaming": collect_tracing5_request_streaming
            "session_type::user_events": collect_tracing5_request_user_events
  collect_tracing6_request_streaming:
    seq:
      - id: streaming_circular_buffer_mb
        -orig-id: streaming_circularBufferMB
        type: u4
        doc: "in MB"
      - id: streaming_format
        type: u4
        enum: streaming_format
      - id: rundown_keyword
        -orig-id: rundownKeyword
        type: ulong
        size: 8
      - id: request_stackwalk
        -orig-id: requestStackwalk
        type: flag
      - id: providers
        type: streaming_provider_config_array
      - id: session_buffer_mode
        -orig-id: sessionBufferMode
        type: u4
        enum: session_buffer_mode
    instances:
      fault_zero_buffer:
        value: streaming_circular_buffer_mb < 1
      fault_unknown_format:
        value: streaming_format.to_i > 1
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
      fault_unknown_buffer_mode:
        value: session_buffer_mode.to_i > 1
  collect_tracing6_request_user_events:
    seq:
      - id: rundown_keyword
        -orig-id: rundownKeyword
        type: ulong
        size: 8
      - id: providers
        type: user_events_provider_config_array
    instances:
      fault_no_providers:
        value: providers.count < 1
      fault_too_many_providers:
        value: providers.count > 1000
  collect_tracing6_request:
    doc: ".NET 11.0"
    seq:
      - id: session_type
        type: u4
        enum: session_type
        valid:
          any-of: ["session_type::streaming", "session_type::user_events"]
      - id: body
        type:
          switch-on: session_type
          cases:
            "session_type::streaming": collect_tracing6_request_streaming
            "session_type::user_events": collect_tracing6_request_user_events
  attach_profiler_request:
    doc: ".NET 3.1"
    seq:
      - id: attach_timeout
        -orig-id: attachTimeout
        type: u4
        doc: "in ms"
      - id: profiler_guid
        -orig-id: profilerGuid
        type: guid
      - id: profiler_path
        -orig-id: profilerPath
        type: utf16_string
        doc: "absent: decodes; answered by E_FAIL (P-5); empty: decodes; answered by E_FAIL (P-5)"
      - id: client_data
        -orig-id: clientData
        type: byte_array
  startup_profiler_request:
    doc: ".NET 6.0"
    seq:
      - id: profiler_guid
        -orig-id: profilerGuid
        type: guid
      - id: profiler_path
        -orig-id: profilerPath
        type: utf16_string
        doc: "absent: no path; empty: no path"
  set_environment_variable_request:
    doc: ".NET 6.0"
    seq:
      - id: name
        type: utf16_string
        doc: "absent: refused (F-80); empty: accepted, but nothing is set (F-80)"
      - id: value
        type: utf16_string
        doc: "absent: deletes the variable (F-44); empty: a value without text"
    instances:
      fault_absent_name:
        value: name.count < 1
  enable_perf_map_request:
    doc: ".NET 8.0"
    seq:
      - id: perf_map_type
        -orig-id: perfMapType
        type: u4
        enum: perf_map_type
    instances:
      fault_unknown_perf_map_type:
        value: (perf_map_type.to_i < 1 or perf_map_type.to_i > 3) and (perf_map_type.to_i < 2147483648)
  apply_startup_hook_request:
    doc: ".NET 8.0"
    seq:
      - id: startup_hook_path
        -orig-id: startupHookPath
        type: utf16_string
        doc: "absent: refused (F-47); empty: accepted, but no hook is run (P-1)"
    instances:
      fault_absent_name:
        value: startup_hook_path.count < 1
  draft_collect_tracing_request:
    seq:
      - id: circular_buffer_mb
        -orig-id: circularBufferMB
        type: u4
        doc: "in MB"
      - id: output_path
        -orig-id: outputPath
        type: utf16_string
        doc: "absent: unused, to be sent absent; empty: unused"
      - id: providers
        type: draft_provider_config_array

  # The payloads of replies.
  result_reply:
    seq:
      - id: hresult
        type: hresult
  session_reply:
    seq:
      - id: session_id
        -orig-id: sessionId
        type: ulong
        size: 8
  process_info_reply:
    seq:
      - id: process_id
        -orig-id: processId
        type: ulong
        size: 8
      - id: runtime_cookie
        -orig-id: runtimeCookie
        type: guid
      - id: command_line
        -orig-id: commandLine
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: os
        -orig-id: OS
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: arch
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
  process_environment_reply:
    seq:
      - id: n_incoming_bytes
        -orig-id: nIncomingBytes
        type: u4
      - id: future
        type: u2
  process_info2_reply:
    seq:
      - id: process_id
        -orig-id: processId
        type: ulong
        size: 8
      - id: runtime_cookie
        -orig-id: runtimeCookie
        type: guid
      - id: command_line
        -orig-id: commandLine
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: os
        -orig-id: OS
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: arch
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: managed_entrypoint_assembly_name
        -orig-id: managedEntrypointAssemblyName
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: the entry assembly is not loaded yet (F-39)"
      - id: clr_product_version
        -orig-id: clrProductVersion
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
  process_info3_reply:
    seq:
      - id: version
        type: u4
      - id: process_id
        -orig-id: processId
        type: ulong
        size: 8
      - id: runtime_cookie
        -orig-id: runtimeCookie
        type: guid
      - id: command_line
        -orig-id: commandLine
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: os
        -orig-id: OS
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: arch
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: managed_entrypoint_assembly_name
        -orig-id: managedEntrypointAssemblyName
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: the entry assembly is not loaded yet (F-39)"
      - id: clr_product_version
        -orig-id: clrProductVersion
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: runtime_identifier
        -orig-id: runtimeIdentifier
        type: utf16_string
        doc: "absent: as empty; runtimes send empty (F-11); empty: unknown to the runtime"
      - id: tail
        size-eos: true
        if: not _io.eof
  error_payload:
    params:
      - id: answers
        type: u2
        doc: The code of the request, or 0.
    seq:
      - id: hresult
        type: hresult
      - id: message
        type: utf16_string
        if: (answers == 0x0103) and not _io.eof
        doc: "absent: no text; empty: no text (F-81)"

  # Parts of payloads.
  event_filter:
    seq:
      - id: enable
        type: flag
      - id: event_ids
        type: uint_array
  tracepoint_set:
    seq:
      - id: tracepoint_name
        type: utf16_string
        doc: "absent: refused (F-21); empty: refused (F-21); a string that begins with NUL (P-43), or has only white space (F-147), too"
      - id: event_ids
        type: uint_array
    instances:
      fault_empty_tracepoint_name:
        value: tracepoint_name.visible_before_nul < 1
      fault_tracepoint_name_too_long:
        value: tracepoint_name.utf8_before_nul > 436
  tracepoint_config:
    seq:
      - id: default_tracepoint_name
        type: utf16_string
        doc: "absent: events that no set lists are not written; empty: counts as a name; its registration fails (P-7)"
      - id: tracepoints
        type: tracepoint_set_array
    instances:
      fault_no_tracepoint:
        value: (default_tracepoint_name.count + tracepoints.count) < 1
      fault_tracepoint_name_too_long:
        value: default_tracepoint_name.utf8_before_nul > 436
  provider_config:
    seq:
      - id: keywords
        type: ulong
        size: 8
      - id: log_level
        -orig-id: logLevel
        type: u4
        enum: log_level
      - id: provider_name
        type: utf16_string
        doc: "absent: refused (F-16); empty: refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too"
      - id: arguments
        type: utf16_string
        doc: "absent: no arguments; empty: arguments without text"
    instances:
      fault_log_level_out_of_range:
        value: log_level.to_i > 5
      fault_empty_provider_name:
        value: provider_name.visible_before_nul < 1
  streaming_provider_config:
    seq:
      - id: keywords
        type: ulong
        size: 8
      - id: log_level
        -orig-id: logLevel
        type: u4
        enum: log_level
      - id: provider_name
        type: utf16_string
        doc: "absent: refused (F-16); empty: refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too"
      - id: arguments
        type: utf16_string
        doc: "absent: no arguments; empty: arguments without text"
      - id: filter
        type: event_filter
    instances:
      fault_log_level_out_of_range:
        value: log_level.to_i > 5
      fault_empty_provider_name:
        value: provider_name.visible_before_nul < 1
  user_events_provider_config:
    seq:
      - id: keywords
        type: ulong
        size: 8
      - id: log_level
        -orig-id: logLevel
        type: u4
        enum: log_level
      - id: provider_name
        type: utf16_string
        doc: "absent: refused (F-16); empty: refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too"
      - id: arguments
        type: utf16_string
        doc: "absent: no arguments; empty: arguments without text"
      - id: filter
        type: event_filter
      - id: config
        type: tracepoint_config
    instances:
      fault_log_level_out_of_range:
        value: log_level.to_i > 5
      fault_empty_provider_name:
        value: provider_name.visible_before_nul < 1
  draft_provider_config:
    seq:
      - id: keywords
        type: ulong
        size: 8
      - id: log_level
        -orig-id: logLevel
        type: u4
        enum: log_level
      - id: provider_name
        type: utf16_string
        doc: "absent: no name; empty: no name"
      - id: filter_data
        type: utf16_string
        doc: "absent: no filter data; empty: filter data without text"
  uint_array:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 4
      - id: items
        type: u4
        repeat: expr
        repeat-expr: count
  tracepoint_set_array:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 8
      - id: items
        type: tracepoint_set
        repeat: expr
        repeat-expr: count
  provider_config_array:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 20
      - id: items
        type: provider_config
        repeat: expr
        repeat-expr: count
  streaming_provider_config_array:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 25
      - id: items
        type: streaming_provider_config
        repeat: expr
        repeat-expr: count
  user_events_provider_config_array:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 33
      - id: items
        type: user_events_provider_config
        repeat: expr
        repeat-expr: count
  draft_provider_config_array:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 20
      - id: items
        type: draft_provider_config
        repeat: expr
        repeat-expr: count
  byte_array:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 1
      - id: data
        size: count * 1
  flag:
    seq:
      - id: number
        type: u1
    instances:
      value:
        value: number != 0
        doc: Any number but 0 is true.
  ulong:
    seq:
      - id: value
        type: u8
    instances:
      low:
        pos: 0
        type: u4
      high:
        pos: 4
        type: u4
  hresult:
    seq:
      - id: code
        type: u4
        enum: hresult_code
  guid:
    seq:
      - id: data1
        type: u4
      - id: data2
        type: u2
      - id: data3
        type: u2
      - id: data4
        size: 8
  utf16_string:
    doc: Absent if the count is 0.
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 2
        doc: The number of units, with the NUL at the end.
      - id: text
        size: count * 2
        type: utf16_text
        if: count > 0
    instances:
      visible_before_nul:
        value: 'count == 0 ? 0 : text.before_nul.units.last.visible'
      utf8_before_nul:
        value: 'count == 0 ? 0 : text.before_nul.units.last.utf8_size'
  utf16_text:
    seq:
      - id: units
        type: u2
        repeat: expr
        repeat-expr: _io.size / 2 - 1
      - id: terminator
        type: u2
        valid: 0
    instances:
      value:
        pos: 0
        size: _io.size - 2
        type: str
        encoding: UTF-16LE
      before_nul:
        pos: 0
        type: utf16_before_nul
  utf16_before_nul:
    seq:
      - id: units
        type: 'utf16_unit(_index == 0 ? 0 : units[_index - 1].value, _index == 0 ? 0 : units[_index - 1].utf8_size, _index == 0 ? 0 : units[_index - 1].visible)'
        repeat: until
        repeat-until: _.value == 0
  utf16_unit:
    params:
      - id: previous
        type: u2
      - id: utf8_size_before
        type: u4
      - id: visible_before
        type: u4
    seq:
      - id: value
        type: u2
    instances:
      is_second_of_pair:
        value: value >= 0xdc00 and value < 0xe000 and previous >= 0xd800 and previous < 0xdc00
      utf8_size:
        value: 'utf8_size_before + (value == 0 ? 0 : value < 0x80 ? 1 : value < 0x800 ? 2 : is_second_of_pair ? 1 : 3)'
        doc: The number of UTF-8 bytes up to here. Half a pair takes the 3 of U+FFFD.
      visible:
        value: 'visible_before + (value == 0 or value == 32 or (value >= 9 and value <= 13) ? 0 : 1)'
        doc: The number of units up to here that are not white space.

  # The `nIncomingBytes` bytes after the reply to Process/ProcessEnvironment.
  environment_block:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 4
      - id: entries
        type: environment_entry
        repeat: expr
        repeat-expr: count
  environment_entry:
    seq:
      - id: count
        type: u4
        valid:
          max: (_io.size - _io.pos) / 2
      - id: text
        size: count * 2
        type: environment_text
  environment_text:
    seq:
      - id: units
        type: u2
        repeat: eos
    instances:
      is_terminated:
        value: units.size > 0 and units.last == 0
      length:
        value: 'is_terminated ? units.size - 1 : units.size'
      up_to_split:
        pos: 2
        type: u2
        repeat: until
        repeat-until: _io.eof or _ == 61
        if: units.size > 1
        doc: The first unit always belongs to the name.
      has_value:
        value: units.size > 1 and up_to_split.last == 61
      name_length:
        value: 'has_value ? up_to_split.size : length'
      name:
        pos: 0
        size: name_length * 2
        type: str
        encoding: UTF-16LE
      value:
        pos: (name_length + 1) * 2
        size: (length - name_length - 1) * 2
        type: str
        encoding: UTF-16LE
        if: has_value
enums:
  command:
    0x0101:
      id: generate_core_dump
      -orig-id: "GenerateCoreDump"
    0x0102:
      id: generate_core_dump2
      -orig-id: "GenerateCoreDump2"
    0x0103:
      id: generate_core_dump3
      -orig-id: "GenerateCoreDump3"
    0x0201:
      id: stop_tracing
      -orig-id: "StopTracing"
    0x0202:
      id: collect_tracing
      -orig-id: "CollectTracing"
    0x0203:
      id: collect_tracing2
      -orig-id: "CollectTracing2"
    0x0204:
      id: collect_tracing3
      -orig-id: "CollectTracing3"
    0x0205:
      id: collect_tracing4
      -orig-id: "CollectTracing4"
    0x0206:
      id: collect_tracing5
      -orig-id: "CollectTracing5"
    0x0207:
      id: collect_tracing6
      -orig-id: "CollectTracing6"
    0x0301:
      id: attach_profiler
      -orig-id: "AttachProfiler"
    0x0302:
      id: startup_profiler
      -orig-id: "StartupProfiler"
    0x0400:
      id: process_info
      -orig-id: "ProcessInfo"
    0x0401:
      id: resume_runtime
      -orig-id: "ResumeRuntime"
    0x0402:
      id: process_environment
      -orig-id: "ProcessEnvironment"
    0x0403:
      id: set_environment_variable
      -orig-id: "SetEnvironmentVariable"
    0x0404:
      id: process_info2
      -orig-id: "ProcessInfo2"
    0x0405:
      id: enable_perf_map
      -orig-id: "EnablePerfMap"
    0x0406:
      id: disable_perf_map
      -orig-id: "DisablePerfMap"
    0x0407:
      id: apply_startup_hook
      -orig-id: "ApplyStartupHook"
    0x0408:
      id: process_info3
      -orig-id: "ProcessInfo3"
    0xFF00:
      id: ok
      -orig-id: "OK"
    0xFFFF:
      id: error
      -orig-id: "Error"
  hresult_code:
    0x00000000:
      id: s_ok
      -orig-id: "S_OK"
    0x80131384:
      id: ds_ipc_e_bad_encoding
      -orig-id: "DS_IPC_E_BAD_ENCODING"
    0x80131385:
      id: ds_ipc_e_unknown_command
      -orig-id: "DS_IPC_E_UNKNOWN_COMMAND"
    0x80131386:
      id: ds_ipc_e_unknown_magic
      -orig-id: "DS_IPC_E_UNKNOWN_MAGIC"
    0x80131387:
      id: cordiagipc_e_unknown_error
      -orig-id: "CORDIAGIPC_E_UNKNOWN_ERROR"
    0x80131515:
      id: ds_ipc_e_notsupported
      -orig-id: "DS_IPC_E_NOTSUPPORTED"
    0x80004005:
      id: ds_ipc_e_fail
      -orig-id: "DS_IPC_E_FAIL"
    0x8013135B:
      id: ds_ipc_e_not_yet_available
      -orig-id: "DS_IPC_E_NOT_YET_AVAILABLE"
    0x80131371:
      id: ds_ipc_e_runtime_uninitialized
      -orig-id: "DS_IPC_E_RUNTIME_UNINITIALIZED"
    0x80070057:
      id: ds_ipc_e_invalidarg
      -orig-id: "DS_IPC_E_INVALIDARG"
    0x8007007A:
      id: ds_ipc_e_insufficient_buffer
      -orig-id: "DS_IPC_E_INSUFFICIENT_BUFFER"
    0x800000CB:
      id: ds_ipc_e_envvar_not_found
      -orig-id: "DS_IPC_E_ENVVAR_NOT_FOUND"
    0x800700CB:
      id: error_envvar_not_found
      -orig-id: "ERROR_ENVVAR_NOT_FOUND"
    0x8007007E:
      id: error_mod_not_found
      -orig-id: "ERROR_MOD_NOT_FOUND"
    0x80070008:
      id: error_not_enough_memory
      -orig-id: "ERROR_NOT_ENOUGH_MEMORY"
    0x8013136A:
      id: corprof_e_profiler_already_active
      -orig-id: "CORPROF_E_PROFILER_ALREADY_ACTIVE"
    0xFFFFFFFF:
      id: setenv_failed_1
      -orig-id: "setenv failed (-1)"
  log_level:
    0:
      id: log_always
      -orig-id: "LogAlways"
    1:
      id: critical
      -orig-id: "Critical"
    2:
      id: error
      -orig-id: "Error"
    3:
      id: warning
      -orig-id: "Warning"
    4:
      id: informational
      -orig-id: "Informational"
    5:
      id: verbose
      -orig-id: "Verbose"
  dump_type:
    1:
      id: normal
      -orig-id: "Normal"
    2:
      id: with_heap
      -orig-id: "WithHeap"
    3:
      id: triage
      -orig-id: "Triage"
    4:
      id: full
      -orig-id: "Full"
  format:
    0:
      id: net_perf
      -orig-id: "NetPerf"
    1:
      id: net_trace
      -orig-id: "NetTrace"
  session_type:
    0:
      id: streaming
      -orig-id: "streaming"
    1:
      id: user_events
      -orig-id: "user_events"
  streaming_format:
    0:
      id: net_perf
      -orig-id: "NetPerf"
    1:
      id: net_trace
      -orig-id: "NetTrace"
  session_buffer_mode:
    0:
      id: drop
      -orig-id: "drop"
    1:
      id: block
      -orig-id: "block"
  perf_map_type:
    0:
      id: disabled
      -orig-id: "DISABLED"
    1:
      id: all
      -orig-id: "ALL"
    2:
      id: jitdump
      -orig-id: "JITDUMP"
    3:
      id: perfmap
      -orig-id: "PERFMAP"
