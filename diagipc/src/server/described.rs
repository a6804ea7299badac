//! Compares a reply with what the operating system reports about the process: its command line,
//! environment and machine. Only Linux reports these.

use std::fs;
use std::path::{Path, PathBuf};

use crate::conversation::{FaultSeen, Reply, value_in_block};
use crate::faults::Fault;
use crate::process::procfs;

/// The name of the reply field for the command line.
pub(super) const COMMAND_LINE: &str = "commandLine";
/// Name prefixes of programs that run code of another machine.
const EMULATORS: [&str; 4] = ["qemu-", "box64", "FEX", "rosetta"];
/// Characters that may quote an argument.
const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// Returns the contradictions between a reply and this process. `tells_arguments` says that its
/// command line must contain the arguments.
pub(super) fn faults_in_reply(
    process: u32,
    reply: &Reply,
    tells_arguments: bool,
) -> impl Iterator<Item = FaultSeen> {
    let is_known = !is_imitated(process);
    let faults =
        is_known.then(|| [command_line(process, reply, tells_arguments), machine(process, reply)]);
    faults.into_iter().flatten().flatten()
}

/// Returns the fault if a variable that the process was started with is missing or different in the
/// environment. `is_changed` tells whether a request has changed a variable.
pub(super) fn fault_in_environment(
    process: u32,
    block: &[u8],
    is_changed: impl Fn(&str) -> bool,
) -> Option<FaultSeen> {
    let started = procfs::environment(process).filter(|_| !is_imitated(process))?;
    let entries: Vec<(&str, &str)> = started
        .iter()
        .filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('='))
        .collect();
    let is_one = |name: &str| entries.iter().filter(|(other, _)| *other == name).count() == 1;
    let text = entries.iter().find_map(|(name, value)| {
        if name.is_empty() || is_changed(name) || !is_one(name) {
            return None;
        }
        match value_in_block(block, name) {
            None => Some(format!("{name} is not in the environment of process {process}")),
            Some(told) if told != *value => Some(format!(
                "{name} has {} characters in the environment, and {} in that of process {process}: \
                 {}, expected {}",
                told.chars().count(),
                value.chars().count(),
                shortened(&told),
                shortened(value)
            )),
            Some(_) => None,
        }
    })?;
    Some(FaultSeen::new(Fault::EnvironmentWrong, text))
}

/// Whether the process is our reference runtime, whose values are those of a recorded runtime. It
/// runs this program, whatever its name is, or another copy that is named `diagipc`.
fn is_imitated(process: u32) -> bool {
    program(process).is_some_and(|program| {
        std::env::current_exe().is_ok_and(|own| own == program)
            || program.file_stem().is_some_and(|name| name == "diagipc")
    })
}

fn program(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

fn command_line(process: u32, reply: &Reply, tells_arguments: bool) -> Option<FaultSeen> {
    let told = reply.text(COMMAND_LINE).filter(|text| !text.is_empty())?;
    let arguments = procfs::arguments(process)?;
    let words: Vec<&str> =
        arguments.iter().map(|word| std::str::from_utf8(word)).collect::<Result<_, _>>().ok()?;
    // A process that overwrites its arguments with a title leaves the rest empty.
    if words.last().is_none_or(|word| word.is_empty()) {
        return None;
    }
    let program = program(process).unwrap_or_default();
    let is_it = (0..words.len()).any(|nth| {
        let (first, others) = (words.get(nth), words.get(nth.saturating_add(1)..));
        let (Some(first), Some(others)) = (first, others) else { return false };
        let programs = [Some(*first), program.to_str().filter(|_| nth == 0)];
        let mut programs = programs.into_iter().flatten();
        programs.any(|program| is_command_line(told, program, others, tells_arguments))
    });
    (!is_it).then(|| {
        let (told, words) = (shortened(told), shortened(&words.join(" ")));
        let text = format!("commandLine is {told}, but process {process} is {words}");
        FaultSeen::new(Fault::CommandLineWrong, text)
    })
}

/// Whether a command line is that of a program with these arguments. Without `tells_arguments` the
/// program alone will do, because .NET leaves the arguments out until its managed code runs (F-79)
/// and as `NativeAOT` (F-100). .NET puts its assembly before the arguments (F-79).
fn is_command_line(told: &str, program: &str, arguments: &[&str], tells_arguments: bool) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.replace(QUOTES, "").split_whitespace().map(str::to_owned).collect()
    };
    let (told, program, arguments) = (parts(told), parts(program), parts(&arguments.join(" ")));
    let Some((first, rest)) = told.split_at_checked(program.len()) else { return false };
    let are = |told: &[String], given: &[String]| {
        told.len() == given.len()
            && told.iter().zip(given).all(|(told, given)| is_same(told, given))
    };
    let is_named = match first {
        [only] => {
            is_same(only, program.first().map_or("", String::as_str)) || is_name(only, &program)
        }
        _ => are(first, &program),
    };
    // An interpreter may leave out its own options.
    let options = arguments.iter().take_while(|word| word.starts_with('-')).count();
    let are_arguments = |told: &[String]| {
        (0..=options).filter_map(|nth| arguments.get(nth..)).any(|given| are(told, given))
    };
    let is_assembly = |word: &String| word.to_lowercase().ends_with(".dll");
    let after_assembly =
        rest.iter().position(is_assembly).and_then(|nth| rest.get(nth..)?.get(1..));
    is_named
        && (rest.is_empty() && !tells_arguments
            || are_arguments(rest)
            || after_assembly.is_some_and(are_arguments))
}

/// Whether two words are equal, or the first is the absolute path of the second.
fn is_same(told: &str, given: &str) -> bool {
    let relative = given.trim_start_matches(['.', '/']);
    told == given
        || Path::new(told).is_absolute()
            && !Path::new(given).is_absolute()
            && !relative.is_empty()
            && Path::new(told).ends_with(relative)
}

/// Whether a word is the name of a program, with or without its extension, or a path that ends with
/// it: an interpreter finds modules in its own directories.
fn is_name(told: &str, program: &[String]) -> bool {
    let path = Path::new(program.last().map_or("", String::as_str));
    let told_path = Path::new(told);
    [path.file_name(), path.file_stem()].into_iter().flatten().any(|name| name == told)
        || told_path.file_stem() == path.file_stem() && told_path.is_file()
}

fn machine(process: u32, reply: &Reply) -> Option<FaultSeen> {
    let said = |field| reply.text(field).filter(|text| !text.is_empty() && *text != "Unknown");
    let os = said("OS").filter(|text| {
        let text = text.to_lowercase();
        !text.contains("linux") && text != "android"
    });
    let text = if let Some(os) = os {
        format!("OS is {os:?}, but process {process} runs on Linux")
    } else {
        let (told, names) = (said("arch")?, architectures(process)?);
        let is_it = names.iter().any(|name| name.eq_ignore_ascii_case(told));
        let name = names.first().filter(|_| !is_it)?;
        format!("arch is {told:?}, but the program of process {process} is one for {name}")
    };
    Some(FaultSeen::new(Fault::MachineWrong, text))
}

/// Returns the names of the architecture that the program of a process was built for, with the
/// document's name first; `None` if it is unknown.
fn architectures(process: u32) -> Option<&'static [&'static str]> {
    let program = program(process)?;
    let name = program.file_name()?.to_string_lossy();
    if EMULATORS.iter().any(|emulator| name.starts_with(emulator)) {
        return None;
    }
    let mut head = [0; 20];
    let mut file = fs::File::open(format!("/proc/{process}/exe")).ok()?;
    std::io::Read::read_exact(&mut file, &mut head).ok()?;
    let [0x7f, b'E', b'L', b'F', _, order, .., low, high] = head else { return None };
    let machine = if order == 1 { [low, high] } else { [high, low] };
    Some(match u16::from_le_bytes(machine) {
        3 => &["x86", "i386", "i686"],
        21 => &["ppc64le"],
        22 => &["s390x"],
        40 => &["arm32", "arm", "armv6", "armhf"],
        62 => &["x64", "x86_64", "amd64"],
        183 => &["arm64", "aarch64"],
        243 => &["riscv64"],
        258 => &["loongarch64"],
        _ => return None,
    })
}

/// Quotes a text, truncated if it is long.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST).and_then(|(at, _)| text.get(..at)) {
        Some(start) => format!("{start:?}…"),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_compared_however_its_program_is_spelled() {
        for (told, program, arguments, is_it) in [
            ("/opt/app /opt/app.dll a b", "/opt/app", &["a", "b"][..], true),
            ("/opt/my app /opt/my app.dll a", "/opt/my app", &["a"], true),
            ("/opt/app", "./app", &["a", "b"], true),
            ("app a b", "/opt/app", &["a", "b"], true),
            ("engine", "../engine.py", &[], true),
            ("/usr/bin/dotnet /work/app.dll a", "/usr/bin/dotnet", &["app.dll", "a"], true),
            ("app \"a b\" 'c'", "app", &["a b", "c"], true),
            ("node /work/app.js a", "/bin/node", &["--inspect", "app.js", "a"], true),
            ("/opt/app a", "/opt/app", &["a", "b"], false),
            ("/opt/app /opt/app.dll a c", "/opt/app", &["a", "b"], false),
            ("/opx/app", "/opt/app", &[], false),
            ("other", "/opt/app", &[], false),
        ] {
            assert_eq!(is_command_line(told, program, arguments, false), is_it, "{told}");
            let is_short = told == "/opt/app" || told == "/opt/my app";
            let is_it = is_it && (!is_short || arguments.is_empty());
            assert_eq!(is_command_line(told, program, arguments, true), is_it, "{told}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn environment_of_a_process_is_what_it_was_started_with() {
        use std::io::{Read as _, Write as _};

        let mut child = std::process::Command::new("cat")
            .env_clear()
            .envs([("A", "a=b=c"), ("B", "é"), ("C", "")])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A process that has just executed its program has no environment yet.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        for (entries, is_changed, fault) in [
            (&["B=é", "A=a=b=c", "MORE=x", "C="][..], false, None),
            (
                &["A=a=b", "B=é", "C="],
                false,
                Some("A has 3 characters in the environment, and 5 in"),
            ),
            (&["A=a=b=c", "C="], false, Some("B is not in the environment")),
            (&["B=é", "C="], true, None),
        ] {
            let count = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
            let mut block = count(entries.len()).to_vec();
            for entry in entries {
                let units: Vec<u16> = entry.encode_utf16().chain([0]).collect();
                block.extend(count(units.len()));
                block.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            }
            let seen = fault_in_environment(child.id(), &block, |name| is_changed && name == "A");
            let text = seen.map(|seen| seen.text).unwrap_or_default();
            assert_eq!(text.contains(fault.unwrap_or("-")), fault.is_some(), "{text}");
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}
