//! The heap that the cases are measured on. What the system's takes for an allocation depends on
//! what the process did before, which is as much as 3 % of a case; this one takes the same always.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static HEAP: Heap = Heap;

const SIZE: usize = 4 << 20;

#[repr(align(4096))]
struct Room(std::cell::UnsafeCell<[u8; SIZE]>);

// SAFETY: each part of it is lent to one allocation at a time, by one thread (`measured`).
unsafe impl Sync for Room {}

static ROOM: Room = Room(std::cell::UnsafeCell::new([0; SIZE]));
/// Whether allocations are from the room.
static MEASURING: AtomicBool = AtomicBool::new(false);
/// How many bytes of the room are lent, and to how many allocations.
static TOP: AtomicUsize = AtomicUsize::new(0);
static LENT: AtomicUsize = AtomicUsize::new(0);

/// Runs it with each allocation at the next place of the room. The program has one thread.
pub fn measured<T>(run: impl FnOnce() -> T) -> T {
    MEASURING.store(true, Relaxed);
    let result = run();
    MEASURING.store(false, Relaxed);
    result
}

struct Heap;

impl Heap {
    fn place(pointer: *mut u8) -> Option<usize> {
        (pointer as usize).checked_sub(ROOM.0.get() as usize).filter(|place| *place < SIZE)
    }

    /// Where as many bytes end that begin at the place, if there is room.
    fn end(place: usize, size: usize) -> Option<usize> {
        place.checked_add(size).filter(|end| *end <= SIZE)
    }
}

// SAFETY: what is lent is inside the room, aligned, and lent to nobody else until it is given back.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let place = TOP.load(Relaxed).next_multiple_of(layout.align());
        match Self::end(place, layout.size()) {
            Some(end) if MEASURING.load(Relaxed) && layout.align() <= 4096 => {
                TOP.store(end, Relaxed);
                LENT.store(LENT.load(Relaxed) + 1, Relaxed);
                // SAFETY: it is in the room.
                unsafe { ROOM.0.get().cast::<u8>().add(place) }
            }
            // SAFETY: the caller's.
            _ => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if Self::place(pointer).is_none() {
            // SAFETY: it was allocated there.
            return unsafe { System.dealloc(pointer, layout) };
        }
        let lent = LENT.load(Relaxed) - 1;
        LENT.store(lent, Relaxed);
        if lent == 0 {
            TOP.store(0, Relaxed);
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(place) = Self::place(pointer) else {
            // SAFETY: it was allocated there.
            return unsafe { System.realloc(pointer, layout, size) };
        };
        // The last grows where it is.
        if let (true, Some(end)) =
            (place + layout.size() == TOP.load(Relaxed), Self::end(place, size))
        {
            TOP.store(end, Relaxed);
            return pointer;
        }
        // SAFETY: both are at least as large as what is copied, and the first is not used again.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(pointer, size.min(layout.size()));
                self.dealloc(pointer, layout);
            }
            new
        }
    }
}
