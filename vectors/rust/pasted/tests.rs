//! Tests what each form reads and refuses.

use alloc::{format, vec::Vec};

use super::PastedForm::{
    self, Array, Base64, CharacterDump, HexDump, Hexadecimal, NodeBuffer, SocatLog, Strings,
};
use super::*;

const RESUME: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";

#[track_caller]
fn reads(text: &str, form: PastedForm, bytes: &[u8]) {
    assert_eq!(PastedForm::of(text), form, "{text}");
    assert_eq!(form.read(text), Ok(Pasted::from(bytes.to_vec())), "{text}");
}

#[test]
fn one_request_in_every_form() {
    for (text, form) in [
        ("444f544e45545f4950435f5631001400 04010000", Hexadecimal),
        ("0x444F544E45545F4950435F563100140004010000\n", Hexadecimal),
        ("44:4f:54:4e:45:54:5f:49:50:43:5f:56:31:00:14:00:04:01:00:00", Hexadecimal),
        ("44-4F-54-4E-45-54-5F-49-50-43-5F-56-31-00-14-00-04-01-00-00", Hexadecimal),
        // xxd
        (
            "00000000: 444f 544e 4554 5f49 5043 5f56 3100 1400  DOTNET_IPC_V1...\n\
             00000010: 0401 0000                                ....\n",
            HexDump,
        ),
        // hexdump -C
        (
            "00000000  44 4f 54 4e 45 54 5f 49  50 43 5f 56 31 00 14 00  |DOTNET_IPC_V1...|\n\
             00000010  04 01 00 00                                       |....|\n00000014\n",
            HexDump,
        ),
        // Wireshark
        (
            "0000   44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 14 00   DOTNET_IPC_V1...\n\
             0010   04 01 00 00                                       ....\n",
            HexDump,
        ),
        // tcpdump -X
        (
            "\t0x0000:  444f 544e 4554 5f49 5043 5f56 3100 1400  DOTNET_IPC_V1...\n\
             \t0x0010:  0401 0000                                ....\n",
            HexDump,
        ),
        // od -A x -t x1
        (
            "000000 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 14 00\n000010 04 01 00 00\n000014\n",
            HexDump,
        ),
        // diagipc decode
        (
            "request Process/ResumeRuntime, 0x0401, 20 bytes at offset 0\n  \
             000000  44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00        magic        \"DOTNET_IPC_V1\"\n  \
             00000e  14 00                                            size         20 = 20 + 0\n  \
             000010  04                                               command_set  0x04 Process\n  \
             000011  01                                               command_id   0x01 ResumeRuntime\n  \
             000012  00 00                                            reserved     0x0000\n\n",
            HexDump,
        ),
        (
            "static const uint8_t resume[20] = { // \"DOTNET_IPC_V1\"\n\
             0x44, 0x4f, 0x54, 0x4e, 0x45, 0x54, 0x5f, 0x49, 0x50, 0x43,\n\
             0x5f, 0x56, 0x31, 0x00, /* size */ 0x14, 0, 4, 1, '\\0', 0x00 };",
            Array,
        ),
        (
            "let resume: [u8; 20] = [0x44u8, 79, 84, 78, 69, 84, 95, 73, 80, 67, 95, 86, 49, 0, 20, 0, 4, 1, 0, 0];",
            Array,
        ),
        ("[68,79,84,78,69,84,95,73,80,67,95,86,49,0,20,0,4,1,0,0]", Array),
        (
            "0x44 0x4f 0x54 0x4e 0x45 0x54 0x5f 0x49 0x50 0x43 0x5f 0x56 0x31 0x00 0x14 0x00 0x04 0x01 0x00 0x00",
            Array,
        ),
        (r#"sendto(4, "DOTNET_IPC_V1\0\24\0\4\1\0\0", 20, 0, NULL, 0) = 20"#, Strings),
        (r"b'DOTNET_IPC_V1\x00\x14\x00\x04\x01\x00\x00'", Strings),
        ("\"DOTNET\" /* two */ \"_IPC_V1\\0\"\n  \"\\024\\0\\004\\x1\\0\\0\"", Strings),
        (r"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Strings),
        ("RE9UTkVUX0lQQ19WMQAUAAQBAAA=", Base64),
        ("RE9UTkVUX0lQ\nQ19WMQAUAAQBAAA=\n", Base64),
    ] {
        reads(text, form, RESUME);
    }
}

#[test]
fn every_escape_and_every_number() {
    let escapes = r#""\a\b\t\n\v\f\r\e\\\'\"\?\0\7\377\xff\x4""#;
    let bytes = [7, 8, 9, 10, 11, 12, 13, 27, b'\\', b'\'', b'"', b'?', 0, 7, 255, 255, 4];
    reads(escapes, Strings, &bytes);
    // Octal has up to three digits, hexadecimal two; a character may have several bytes.
    reads(r#""\1234\x414""#, Strings, b"\x534\x414");
    reads("\"caf\u{e9}\"", Strings, "caf\u{e9}".as_bytes());
    reads(
        "{ -1, -128, 127, 255, 0XfF, 007, 00, '\\'', '{' }",
        Array,
        b"\xff\x80\x7f\xff\xff\x07\0'{",
    );
    reads("new byte[][] { { 1, 2 }, { 3 } };", Array, &[1, 2, 3]);
    reads("+/+/-_-_", Base64, &[0xfb, 0xff, 0xbf, 0xfb, 0xff, 0xbf]);
    reads("AQ==", Base64, &[1]);
}

#[test]
fn all_bytes_in_every_form() {
    let all: Vec<u8> = (0..=255).collect();
    let join = |each: fn(&u8) -> alloc::string::String, between| {
        all.iter().map(each).collect::<Vec<_>>().join(between)
    };
    reads(&join(|byte| format!("{byte:02x}"), " "), Hexadecimal, &all);
    reads(&join(|byte| format!("{byte}"), ", "), Array, &all);
    reads(&format!("\"{}\"", join(|byte| format!("\\{byte:03o}"), "")), Strings, &all);
    let dump = all.chunks(16).enumerate().map(|(nth, line)| {
        let cells: Vec<_> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:08x}  {}\n", nth * 16, cells.join(" "))
    });
    reads(&dump.collect::<alloc::string::String>(), HexDump, &all);
}

#[test]
fn digits_that_are_no_dump_are_hexadecimal() {
    // The fields of a message may look like an offset and bytes.
    for (text, bytes) in [
        ("1400 01 02", &[0x14, 0, 1, 2][..]),
        ("0000 01 02", &[0, 0, 1, 2]),
        ("01000000 04000000 41003d0062000000", b"\x01\0\0\0\x04\0\0\0\x41\0\x3d\0\x62\0\0\0"),
        ("444f 544e\n4554 5f49", b"DOTNET_I"),
        ("", b""),
    ] {
        reads(text, Hexadecimal, bytes);
    }
}

#[test]
fn several_dumps_are_read_one_after_the_other() {
    let text = "request\n00000000: 0102 0304  ....\n00000004: 05  .\n\nreply\n00000000: 06  .\n";
    reads(text, HexDump, &[1, 2, 3, 4, 5, 6]);
    // This dump begins later.
    reads("00000010  01 02\n00000012  03\n", HexDump, &[1, 2, 3]);
}

/// A mistake in digits is reported as one.
#[test]
fn a_typing_error_is_not_base64() {
    for text in ["zz", "444g4f54", "44 4f 5g", "44O0"] {
        assert_eq!(PastedForm::of(text), Hexadecimal, "{text}");
        assert!(Hexadecimal.read(text).is_err(), "{text}");
    }
}

/// Each form names the place and what is wrong there.
#[test]
fn what_is_wrong_is_named_with_its_place() {
    let refuses = |form: PastedForm, rows: &[(&str, &str)]| {
        for (text, why) in rows {
            let error = form.read(text).unwrap_err();
            let found = format!("{}:{} {}", error.line, error.column, error.message);
            assert_eq!(found, *why, "{text}");
        }
    };
    refuses(
        Hexadecimal,
        &[
            ("44 4f\n  5g", "2:4 'g' is not a hexadecimal digit"),
            ("\u{e9}", "1:1 '\u{e9}' is not a hexadecimal digit"),
            ("44 4 f0", "1:4 1 digits: a byte has two, so a group has an even number"),
            ("444f5", "1:1 5 digits: a byte has two, so a group has an even number"),
            ("0x0x44", "1:4 'x' is not a hexadecimal digit"),
        ],
    );
    refuses(
        HexDump,
        &[
            (
                "00000000  01 02\n00000003  04\n",
                "2:1 the offset is 0x3, expected 0x2 after the bytes before it",
            ),
            (
                "00000000  01 02\n*\n00000020  04\n",
                "2:1 * leaves out lines; hexdump -v, od -v and xxd print all of them",
            ),
            (
                "00000000  01 02  |..|\n00000003\n",
                "2:1 the offset is 0x3, expected 0x2 after the bytes before it",
            ),
            (
                "0000000 4f44 4e54\n0000004\n",
                "1:8 groups of several bytes are in the order of the machine; hexdump -C and od -t x1 print bytes",
            ),
            (
                "  000000  01\n  000001  \u{2026} 20 more bytes\n",
                "2:9 this dump leaves out bytes; --json has all of them",
            ),
            ("no bytes", "1:1 no line begins with an offset and bytes"),
        ],
    );
    refuses(
        Array,
        &[
            ("{ 1, 2", "1:1 this bracket is not closed: the array is cut"),
            ("{ 1 } }", "1:7 '}' without an opening one"),
            ("{ 256 }", "1:3 256 is not a byte: it is not from -128 to 255"),
            ("{ -129 }", "1:3 -129 is not a byte: it is not from -128 to 255"),
            ("{ 99999999999 }", "1:3 99999999999 is not a byte: it is not from -128 to 255"),
            ("{ 4f }", "1:3 4f is not a number; hexadecimal begins with 0x"),
            ("{ 0x }", "1:3 0x is not a number"),
            ("{ 010 }", "1:3 010 is octal in C and decimal elsewhere: write it without the 0"),
            ("{ 1; 2 }", "1:4 expected a number such as 0x44 or 68, not ';'"),
            ("{ 'ab' }", "1:3 not a character of one byte in quotes"),
            ("{ (byte)1 }", "1:3 expected a number such as 0x44 or 68, not '('"),
            ("-", "1:1 expected a number such as 0x44 or 68, not the end"),
        ],
    );
    refuses(
        Strings,
        &[
            ("\"ab\ncd\"", "1:1 this string does not end on its line"),
            ("x = 'ab", "1:5 this string does not end on its line"),
            (r#""a\q""#, r"1:3 \q is not an escape"),
            (r#""a\xg""#, r"1:3 \x without hexadecimal digits"),
            (r#""\400""#, r"1:2 \400 is more than a byte"),
            (r#""\u0041""#, r"1:2 \u is a character and not a byte: write its bytes with \x"),
            (r"a\", "1:2 the text ends with a backslash"),
            (r#"L"a""#, "1:1 a string with L before it may have other characters or no escapes"),
        ],
    );
    refuses(
        Base64,
        &[
            ("RE9U*", "1:5 '*' is not a character of base64"),
            ("AQ==AQ==", "1:5 'A' after the padding (=)"),
            (
                "RE9UTg\n",
                "1:7 2 characters and 0 of padding (=) after the last group of four, expected 2 and 2, or 3 and 1",
            ),
            ("RE9UTh==", "1:9 the last character has bits that belong to no byte"),
        ],
    );
}

/// `StopTracing` of session 0x41200a0d0000000a, whose bytes have a line feed, a carriage return and a
/// space.
const STOP: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x0a\0\0\0\x0d\x0a\x20\x41";
/// The reply of session 42.
const STOPPED: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";

/// The programs print the bytes like this.
#[test]
fn a_request_is_read_from_what_programs_print() {
    for (text, form) in [
        // This is od -c, with octal, decimal and hexadecimal offsets.
        (
            "0000000   D   O   T   N   E   T   _   I   P   C   _   V   1  \\0 034  \\0\n\
             0000020 002 001  \\0  \\0  \\n  \\0  \\0  \\0  \\r  \\n       A\n0000034\n",
            CharacterDump,
        ),
        (
            "0000000   D   O   T   N   E   T   _   I   P   C   _   V   1  \\0 034  \\0\n\
             0000016 002 001  \\0  \\0  \\n  \\0  \\0  \\0  \\r  \\n       A\n0000028\n",
            CharacterDump,
        ),
        (
            "000000   D   O   T   N   E   T   _   I   P   C   _   V   1  \\0 034  \\0\n\
             000010 002 001  \\0  \\0  \\n  \\0  \\0  \\0  \\r  \\n       A\n00001c\n",
            CharacterDump,
        ),
        // od -b
        (
            "0000000 104 117 124 116 105 124 137 111 120 103 137 126 061 000 034 000\n\
             0000020 002 001 000 000 012 000 000 000 015 012 040 101\n0000034\n",
            CharacterDump,
        ),
        // This is od -t x1, without and with -z.
        (
            "0000000 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 1c 00\n\
             0000020 02 01 00 00 0a 00 00 00 0d 0a 20 41\n0000034\n",
            HexDump,
        ),
        (
            "0000000 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 1c 00  >DOTNET_IPC_V1...<\n\
             0000020 02 01 00 00 0a 00 00 00 0d 0a 20 41              >.......... A<\n0000034\n",
            HexDump,
        ),
        // This is WinDbg, with 64 bits and with 32.
        (
            "0:000> db 1f4`3c5a1000 L1c\n\
             000001f4`3c5a1000  44 4f 54 4e 45 54 5f 49-50 43 5f 56 31 00 1c 00  DOTNET_IPC_V1...\n\
             000001f4`3c5a1010  02 01 00 00 0a 00 00 00-0d 0a 20 41              .......... A\n",
            HexDump,
        ),
        (
            "0014ff00  44 4f 54 4e 45 54 5f 49-50 43 5f 56 31 00 1c 00  DOTNET_IPC_V1...\n\
             0014ff10  02 01 00 00 0a 00 00 00-0d 0a 20 41              .......... A\n",
            HexDump,
        ),
        (
            "got [\n  <Buffer 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 1c 00>,\n  \
             <Buffer 02 01 00 00 0a 00 00 00 0d 0a 20 41>\n]\n",
            NodeBuffer,
        ),
    ] {
        reads(text, form, STOP);
    }
}

#[test]
fn quotes_fences_and_log_prefixes_are_not_of_the_bytes() {
    const XXD: &str = "00000000: 444f 544e 4554 5f49 5043 5f56 3100 1c00  DOTNET_IPC_V1...\n\
        00000010: 0201 0000 0a00 0000 0d0a 2041            .......... A\n";
    let each =
        |prefix: &str| format!("{prefix}{}", XXD.trim_end().replace('\n', &format!("\n{prefix}")));
    for prefix in [
        "> ",
        ">> ",
        "DEBUG ",
        "2026-11-27T10:00:00.125Z DEBUG ",
        "2026-11-27 10:00:00,125 [7] INFO Ipc.Client - ",
        "10:00:00.125 ",
        "10:00:00 [DBG] ",
        "[2026-11-27 10:00:00] ",
        "[  12.345678] ",
        "Nov 27 10:00:00 host dotnet[4242]: ",
        "> 2026/11/27 10:00:00 debug: ",
    ] {
        reads(&each(prefix), HexDump, STOP);
    }
    let digits = "444f544e45545f4950435f5631001c00020100000a0000000d0a2041";
    for text in [
        format!("Here it is:\n\n```text\n{digits}\n```\n\nIs that right?\n"),
        format!("> Here it is:\n>\n> ~~~\n> {digits}\n> ~~~\n"),
        format!("> {digits}\n"),
        format!("dbug: My.Client[0]\n      {digits}\n"),
        format!("Payload: {digits}\n"),
        format!("[10:00:00 DBG] sent -> {digits}\n").replace("10:00:00 DBG", "DBG"),
        format!("2026-11-27T10:00:00+01:00 TRACE sent: {digits}\n"),
    ] {
        reads(&text, Hexadecimal, STOP);
    }
    let array = "```js\nconst stop = [0x44, 0x4f, /* one */ 84];\n```\n";
    reads(array, Array, b"DOT");
    // The place of a mistake is its place in the original text.
    let error = Hexadecimal.read("x\n```\n> DEBUG 44 4g\n```").unwrap_err();
    assert_eq!(error.to_string(), "line 3, column 13: 'g' is not a hexadecimal digit");
    // Whatever may be bytes is not left out.
    for (text, message) in [
        (
            "10:00:00 44 4f",
            "line 1, column 1: 10:00:00 is a time or three bytes: leave it out, or separate all bytes alike",
        ),
        ("DEBUG 4g 4f", "line 1, column 8: 'g' is not a hexadecimal digit"),
        ("g4 4f", "line 1, column 1: 'g' is not a hexadecimal digit"),
    ] {
        assert_eq!(Hexadecimal.read(text).unwrap_err().to_string(), message, "{text}");
    }
    reads("10:00:00", Hexadecimal, &[0x10, 0, 0]);
    reads("2026-11-27", Hexadecimal, &[0x20, 0x26, 0x11, 0x27]);
}

fn part(len: usize, sender: Option<Direction>) -> PastedPart {
    PastedPart { len, sender, gap: None }
}

const CLIENT: Option<Direction> = Some(Direction::Client);
const SERVER: Option<Direction> = Some(Direction::Server);

/// socat 1.7.4 printed this.
#[test]
fn log_of_socat_names_the_sender() {
    const BOTH: &str = "\
> 2026/11/29 01:00:23.000883525  length=28 from=0 to=27
 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 1c 00  DOTNET_IPC_V1...
 02 01 00 00 0a                                   .....
 00 00 00 0d 0a                                   .....
 20 41                                             A
--
< 2026/11/29 01:00:23.000892504  length=28 from=0 to=27
 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 1c 00  DOTNET_IPC_V1...
 ff 00 00 00 2a 00 00 00 00 00 00 00              ....*.......
--
";
    const PLAIN: &str = "\
> 2020/09/17 10:00:00.000883  length=10 from=0 to=9
 44 4f 54 4e 45 54 5f 49 50 43
> 2020/09/17 10:00:00.000884  length=18 from=10 to=27
 5f 56 31 00 1c 00 02 01 00 00 0a 00 00 00 0d 0a 20 41
< 2020/09/17 10:00:00.000892  length=28 from=0 to=27
 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00 1c 00 ff 00 00 00 2a 00 00 00 00 00 00 00
";
    let quoted = format!("> {}", BOTH.trim_end().replace('\n', "\n> "));
    for text in [BOTH, PLAIN, &quoted] {
        assert_eq!(PastedForm::of(text), SocatLog, "{text}");
        let read = SocatLog.read(text).unwrap();
        assert_eq!(read.bytes, [STOP, STOPPED].concat());
        assert_eq!(read.parts, [part(28, CLIENT), part(28, SERVER)], "{text}");
    }
    // The runtime connects to the first address, and what it sends identifies it.
    let turned: String = BOTH.replace("> 2026", "= 2026").replace("< 2026", "> 2026");
    let read = SocatLog.read(&turned.replace("= 2026", "< 2026")).unwrap();
    assert_eq!(read.parts, [part(28, CLIENT), part(28, SERVER)]);
    for (text, message) in [
        (BOTH.replace(" 20 41", " 20   "), "line 1, column 1: length=28, but 27 bytes follow"),
        (
            PLAIN.replace("from=10", "from=11"),
            "line 3, column 1: from=11, expected 10 after the bytes of this side",
        ),
        (
            "> 2026/11/29 01:00:26.000169801  length=28 from=0 to=27\nDOTNET_IPC_V1.......\n"
                .into(),
            "line 2, column 1: expected bytes in hexadecimal: socat -x prints them, -v alone does not",
        ),
    ] {
        assert_eq!(SocatLog.read(&text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn what_a_text_leaves_out_is_said() {
    for (text, form, bytes, gaps) in [
        (
            "read(3, \"DOTNET_I\"..., 131072)          = 28\n",
            Strings,
            &b"DOTNET_I"[..],
            &["after byte 8: 20 bytes that strace has cut"][..],
        ),
        (
            "write(3, \"DOT\"..., 20) = 20\nread(3, \"ADVR_V1\\0\", 34) = 8\n",
            Strings,
            b"DOTADVR_V1\0",
            &["after byte 3: 17 bytes that strace has cut"],
        ),
        // The result is for both strings.
        (
            "sendmsg(3, {msg_iov=[{iov_base=\"DOT\"..., iov_len=20}, {iov_base=\"A\", iov_len=1}]}, 0) = 21",
            Strings,
            b"DOTA",
            &["after byte 3: what strace has cut"],
        ),
        ("x = \"DOT\"...", Strings, b"DOT", &["after byte 3: what strace has cut"]),
        (
            "<Buffer 44 4f 54 ... 67 more bytes>",
            NodeBuffer,
            b"DOT",
            &["after byte 3: 67 more bytes that Node has left out"],
        ),
    ] {
        let (found, read) = read(text);
        let read = read.unwrap();
        assert_eq!((found, &*read.bytes), (form, bytes), "{text}");
        assert_eq!(read.gaps(), gaps, "{text}");
    }
    for (text, message) in [
        (
            "00000000`00001000  44 4f ?? ??-?? ??  DO????\n",
            "line 1, column 1: ?? is memory that the debugger could not read",
        ),
        ("<Buffer 44 4f", "line 1, column 9: this <Buffer does not end with >"),
        ("> <Buffer 44 4g>", "line 1, column 15: 'g' is not a hexadecimal digit"),
        (
            "0000000   D   O\n*\n0000040   D\n",
            "line 2, column 1: * leaves out lines; hexdump -v, od -v and xxd print all of them",
        ),
        (
            "0000000   D   O\n0000777\n",
            "line 2, column 1: this offset does not follow from the line before it",
        ),
    ] {
        assert_eq!(PastedForm::of(text).read(text).unwrap_err().to_string(), message, "{text}");
    }
    // macOS prints two bytes of UTF-8 like this.
    let error = CharacterDump.read("0000000   D  \u{e9}  **\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 12: expected four columns for a byte, such as \"  \\n\""
    );
}
