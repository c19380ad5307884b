//! Time and randomness of the system, as a simulation decides them: these functions of the C library are replaced in
//! this test alone, and do what they always do while nothing is simulated.
#![expect(unsafe_code, reason = "the standard library calls functions of C")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

static SIMULATED: AtomicBool = AtomicBool::new(false);
static RANDOM: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds since 1970, and since the machine was started.
static NOW: AtomicU64 = AtomicU64::new(0);

/// From here on time stands still until it is set, and random numbers follow from the seed.
pub(crate) fn begin(seed: u64) {
    RANDOM.store(seed, SeqCst);
    NOW.store(1_800_000_000_000_000_000, SeqCst);
    SIMULATED.store(true, SeqCst);
}

pub(crate) fn advance_to(since_beginning: Duration) {
    let nanoseconds = u64::try_from(since_beginning.as_nanos()).unwrap();
    NOW.fetch_max(1_800_000_000_000_000_000 + nanoseconds, SeqCst);
}

/// The generator splitmix64.
pub(crate) fn next_random(state: u64) -> (u64, u64) {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state, mixed ^ (mixed >> 31))
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Returns the function that this one stands before: `RTLD_NEXT`.
fn original(name: &std::ffi::CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero.
    let found = unsafe { dlsym(std::ptr::without_provenance_mut(usize::MAX), name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    if SIMULATED.load(SeqCst) {
        let now = NOW.load(SeqCst).cast_signed();
        let (seconds, nanoseconds) = (now / 1_000_000_000, now % 1_000_000_000);
        // SAFETY: the caller keeps the contract of `clock_gettime`.
        unsafe { time.write(Timespec { seconds, nanoseconds }) };
        return 0;
    }
    type Original = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;
    // SAFETY: it has this type in every C library for 64 bits.
    unsafe { std::mem::transmute::<*mut c_void, Original>(original(c"clock_gettime"))(clock, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if SIMULATED.load(SeqCst) {
        // SAFETY: the caller keeps the contract of `getrandom`.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
        for byte in bytes {
            let (state, random) = next_random(RANDOM.load(SeqCst));
            RANDOM.store(state, SeqCst);
            *byte = random.to_le_bytes()[0];
        }
        return length.cast_signed();
    }
    type Original = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    // SAFETY: it has this type in every C library for 64 bits.
    unsafe { std::mem::transmute::<*mut c_void, Original>(original(c"getrandom"))(buffer, length, flags) }
}
