//! Disks that fill, fail and lie: what was acknowledged survives, what was not is refused.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plimsoll_ingest::journal::{Disk, DiskFile, LocalDisk};

use crate::support::{Place, body, post};

/// A disk whose faults are switched on and off.
#[derive(Debug, Default)]
struct Faults {
    /// Bytes that may still be written; `u64::MAX` for any number.
    room: AtomicU64,
    sync_fails: AtomicBool,
}

#[derive(Debug, Clone)]
struct FaultyDisk(Arc<Faults>);

#[derive(Debug)]
struct FaultyFile(Box<dyn DiskFile>, Arc<Faults>);

impl FaultyDisk {
    fn with_room(room: u64) -> Self {
        Self(Arc::new(Faults { room: AtomicU64::new(room), ..Faults::default() }))
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FaultyFile(LocalDisk.create(path, size)?, Arc::clone(&self.0))))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        LocalDisk.sync_directory(path)
    }
}

impl DiskFile for FaultyFile {
    /// Writes what there is room for, and then fails, as a full disk does.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let room = self.1.room.load(Ordering::Relaxed);
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.0.write_all_at(&bytes[..fits], offset)?;
        if room != u64::MAX {
            self.1.room.store(room - fits as u64, Ordering::Relaxed);
        }
        if fits == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn sync(&self) -> io::Result<()> {
        if self.1.sync_fails.load(Ordering::Relaxed) {
            Err(io::Error::other("the device is gone"))
        } else {
            self.0.sync()
        }
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        self.0.truncate(size)
    }
}

/// A full disk is a 503 until there is room again; what was acknowledged before and after is kept,
/// and the half record in between is nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_and_loses_nothing() {
    let place = Place::new().await;
    let disk = FaultyDisk::with_room(700);
    let mut config = place.config();
    config.journal.disk = Arc::new(disk.clone());
    let ingest = place.start_with(config).await;
    let mut taken = Vec::new();
    let refused = loop {
        let name = format!("before-{}", taken.len());
        let answer = post(&ingest, body(&[name.as_str()])).await;
        if answer.status != 200 {
            break answer;
        }
        taken.push(name);
    };
    assert_eq!((refused.status, refused.header("retry-after")), (503, "5"));
    assert!(!taken.is_empty());
    assert!(ingest.alive(), "a full disk is no reason to restart");
    disk.0.room.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(post(&ingest, body(&["after"])).await.status, 200);
    taken.push("after".to_owned());
    drop(ingest);
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    taken.sort();
    assert_eq!(
        place.names().await.into_iter().collect::<Vec<_>>(),
        taken.into_iter().map(|name| (name, 1)).collect::<Vec<_>>()
    );
    assert_eq!(ingest.counts().damaged, 0);
}

/// Where the inner half of [`a_small_file_system_fills_and_recovers`] finds its file system.
const SMALL: &str = "PLIMSOLL_TEST_SMALL_FILE_SYSTEM";

/// A real file system that is full: refused until the lake has stored what is there, then taken again, by
/// itself. It is mounted in a namespace of its own, where the system lets a user do that.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
async fn a_small_file_system_fills_and_recovers() {
    if let Some(small) = std::env::var_os(SMALL) {
        return fill(Path::new(&small)).await;
    }
    let mounted = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=4m none \"$0\" || exit 77; exec \"$@\"";
    let inner = ["--exact", "disk::a_small_file_system_fills_and_recovers"];
    let run = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(mounted.path())
        .arg(std::env::current_exe().unwrap())
        .args(inner)
        .env(SMALL, mounted.path())
        .output();
    match run {
        Ok(run) if run.status.success() => {}
        Ok(run) if String::from_utf8_lossy(&run.stdout).contains("running") => {
            let said = [run.stdout, run.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
            assert!(run.status.success(), "{}", said.concat());
        }
        _ => println!("skipped: this system lets a user mount nothing"),
    }
}

async fn fill(small: &Path) {
    let place = Place::new().await;
    let mut config = place.config();
    config.journal.directory = small.join("journal");
    config.journal.segment_age = std::time::Duration::ZERO;
    let ingest = place.start_with(config).await;
    let long = "x".repeat(100_000);
    let mut taken = 0;
    for _round in 0..3 {
        let refused = loop {
            let answer = post(&ingest, body(&[format!("{taken}{long}").as_str()])).await;
            if answer.status != 200 {
                break answer;
            }
            taken += 1;
            assert!(taken < 1000, "the file system does not fill");
        };
        assert_eq!((refused.status, refused.header("retry-after")), (503, "5"));
        assert!(ingest.alive(), "a full disk is no reason to restart");
        ingest.flush().await.unwrap();
        // Segments go once they are stored; the journal's own thread does that.
        while post(&ingest, body(&[format!("{taken}{long}").as_str()])).await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        taken += 1;
    }
    ingest.flush().await.unwrap();
    let names = place.names().await;
    assert_eq!(names.len(), taken);
    assert!(names.values().all(|times| *times == 1));
}

/// After a failed sync nothing that the disk says can be trusted: nothing is acknowledged any more,
/// the process asks for its restart, and the restart keeps what had been acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_stops_the_journal() {
    let place = Place::new().await;
    let disk = FaultyDisk::with_room(u64::MAX);
    let mut config = place.config();
    config.journal.disk = Arc::new(disk.clone());
    let ingest = place.start_with(config).await;
    assert_eq!(post(&ingest, body(&["kept"])).await.status, 200);
    disk.0.sync_fails.store(true, Ordering::Relaxed);
    assert_eq!(post(&ingest, body(&["lost"])).await.status, 503);
    assert!(!ingest.ready() && !ingest.alive());
    disk.0.sync_fails.store(false, Ordering::Relaxed);
    assert_eq!(post(&ingest, body(&["late"])).await.status, 503);
    drop(ingest);
    let ingest = place.start().await;
    assert!(ingest.ready() && ingest.alive());
    ingest.flush().await.unwrap();
    assert_eq!(place.names().await["kept"], 1);
}
