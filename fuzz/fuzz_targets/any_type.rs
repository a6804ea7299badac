//! Any bytes as any type of the vectors: ports, names, records, environments, messages. What is canonical is written again the same.
#![no_main]

use std::sync::LazyLock;

use dotnet_diagnostics_ipc::vectors::{self, Group, Subject};
use libfuzzer_sys::fuzz_target;

/// Every subject that a group of the vectors has.
static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let mut subjects: Vec<Subject> = Vec::new();
    for file in vectors::files().unwrap() {
        for subject in file.groups.iter().filter_map(Group::subject) {
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
    }
    subjects
});

fuzz_target!(|input: (u8, &[u8])| {
    let (which, wire) = input;
    let subject = SUBJECTS[usize::from(which) % SUBJECTS.len()];
    let decoded = subject.decode(wire);
    // The annotated dump reads the same bytes by a way of its own; it ends where the decoder does.
    let notes = subject.annotate(wire);
    assert!(notes.list().iter().all(|note| note.offset <= wire.len()), "{subject:?}");
    match decoded {
        Ok(decoded) => {
            let again = Subject { kind: decoded.kind, ..subject }.encode(&decoded.value);
            match again {
                Ok(again) if decoded.canonical => assert_eq!(again, wire, "{subject:?} {}", decoded.value),
                Ok(again) => assert_ne!(again, wire, "{subject:?} {}", decoded.value),
                Err(_) => assert!(!decoded.canonical, "{subject:?} {}", decoded.value),
            }
        }
        Err(refusal) => assert!(refusal.fault.offset <= wire.len(), "{subject:?} {refusal:?}"),
    }
});
