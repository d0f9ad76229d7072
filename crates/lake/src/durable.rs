//! A local disk that keeps its word: what a put returned for is still there after a power cut.
//!
//! `object_store` 0.13 writes local files without ever calling `fsync`. [`DurableFs`] writes each file
//! under a temporary name, syncs it, gives it its name (by a hard link, which fails where the name is
//! taken, or by a rename) and syncs the folders; reading is left to `LocalFileSystem`.
//!
//! Invariants: a name holds the whole file or does not exist, at every moment and after every crash;
//! listings are sorted, as those of object stores are.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path as FsPath, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, UploadPart,
};
use uuid::Uuid;

/// Folder, under the root, of files that have not got their names yet.
const UNNAMED: &str = "_tmp";

/// Age from which an unnamed file is taken to be the leftover of a crash.
const LEFTOVER: Duration = Duration::from_secs(24 * 60 * 60);

type Result<T> = object_store::Result<T>;

/// An object store on a local folder whose writes survive a power cut.
#[derive(Debug, Clone)]
pub(crate) struct DurableFs {
    root: PathBuf,
    inner: Arc<LocalFileSystem>,
    folders: Arc<Folders>,
}

/// Folders whose own names are known to be on the disk.
///
/// That a folder exists does not say so: another process may have made it a moment ago and not have
/// synced it yet. So each is synced once by each process, before a file in it is relied on.
#[derive(Debug, Default)]
struct Folders(Mutex<BTreeSet<PathBuf>>);

impl std::fmt::Display for DurableFs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DurableFs({})", self.root.display())
    }
}

impl DurableFs {
    /// Opens a folder, making it where it does not exist, and removes leftovers of crashes.
    pub(crate) fn open(root: &FsPath) -> io::Result<Self> {
        let folders = Folders::default();
        if !root.is_dir() {
            folders.make(root)?;
        }
        let root = root.canonicalize()?;
        // What was there before is its owner's care; the folder above may not even be readable.
        folders.known().insert(root.clone());
        sweep(&root.join(UNNAMED))?;
        let inner = LocalFileSystem::new_with_prefix(&root).map_err(io::Error::other)?;
        Ok(Self { root, inner: Arc::new(inner), folders: Arc::new(folders) })
    }

    /// Opens a folder that exists, and leaves it as it is.
    pub(crate) fn existing(root: &FsPath) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, "it is not a folder"));
        }
        let folders = Folders::default();
        folders.known().insert(root.clone());
        let inner = LocalFileSystem::new_with_prefix(&root).map_err(io::Error::other)?;
        Ok(Self { root, inner: Arc::new(inner), folders: Arc::new(folders) })
    }

    /// The folder, absolute.
    pub(crate) fn root(&self) -> &FsPath {
        &self.root
    }

    async fn write(&self, location: &Path, payload: PutPayload, create: bool) -> Result<PutResult> {
        let unnamed = self.root.join(UNNAMED).join(Uuid::new_v4().simple().to_string());
        let named = self.inner.path_to_filesystem(location)?;
        let folders = Arc::clone(&self.folders);
        blocking(move || {
            let written = write_named(&folders, &unnamed, &named, &payload, create);
            if written.is_err() {
                // The name was not given, so nobody can know the file; a failure to remove it is
                // mended by the next sweep.
                let _ = fs::remove_file(&unnamed);
            }
            written.map_err(|source| failed(source, &named))
        })
        .await?;
        Ok(PutResult { e_tag: None, version: None })
    }

    async fn sync(&self, location: &Path) -> Result<()> {
        let path = self.inner.path_to_filesystem(location)?;
        blocking(move || {
            let synced =
                File::open(&path).and_then(|file| file.sync_all()).and_then(|()| sync_folder_of(&path));
            synced.map_err(|source| failed(source, &path))
        })
        .await
    }
}

/// Writes a file so that it has its name only once it is whole and on the disk.
fn write_named(
    folders: &Folders,
    unnamed: &FsPath,
    named: &FsPath,
    payload: &PutPayload,
    create: bool,
) -> io::Result<()> {
    folders.make_of(unnamed)?;
    let mut file = File::create_new(unnamed)?;
    for chunk in payload {
        file.write_all(chunk)?;
    }
    file.sync_all()?;
    drop(file);
    folders.make_of(named)?;
    if create {
        fs::hard_link(unnamed, named)?;
        // Named already: what is left is a second name in the folder of leftovers.
        let _ = fs::remove_file(unnamed);
    } else {
        fs::rename(unnamed, named)?;
    }
    sync_folder_of(named)
}

impl Folders {
    /// Makes a folder and those above it, each on the disk before it is used.
    fn make(&self, folder: &FsPath) -> io::Result<()> {
        if self.known().contains(folder) {
            return Ok(());
        }
        if !folder.is_dir() {
            self.make_of(folder)?;
            match fs::create_dir(folder) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                _ => {}
            }
        }
        sync_folder_of(folder)?;
        self.known().insert(folder.to_owned());
        Ok(())
    }

    /// Makes the folder that a path stands in.
    fn make_of(&self, path: &FsPath) -> io::Result<()> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.make(parent),
            _ => Ok(()),
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Syncs the folder that a path stands in.
fn sync_folder_of(path: &FsPath) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    File::open(parent.unwrap_or(FsPath::new(".")))?.sync_all()
}

/// Removes what crashes left in the folder of unnamed files.
fn sweep(folder: &FsPath) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        // An entry may vanish meanwhile: its writer is alive.
        let age = entry.metadata().and_then(|meta| meta.modified()).map(|at| at.elapsed());
        if let Ok(Ok(age)) = age
            && age > LEFTOVER
        {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// An I/O error as object stores tell it.
fn failed(source: io::Error, path: &FsPath) -> object_store::Error {
    let path = path.display().to_string();
    match source.kind() {
        ErrorKind::AlreadyExists => object_store::Error::AlreadyExists { path, source: source.into() },
        ErrorKind::NotFound => object_store::Error::NotFound { path, source: source.into() },
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            object_store::Error::PermissionDenied { path, source: source.into() }
        }
        _ => object_store::Error::Generic { store: "local disk", source: format!("{path}: {source}").into() },
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| object_store::Error::Generic { store: "local disk", source: e.into() })?
}

#[async_trait]
impl ObjectStore for DurableFs {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        match opts.mode {
            PutMode::Create => self.write(location, payload, true).await,
            PutMode::Overwrite => self.write(location, payload, false).await,
            PutMode::Update(_) => Err(object_store::Error::NotImplemented {
                operation: "conditional update".to_owned(),
                implementer: self.to_string(),
            }),
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(Upload { store: self.clone(), location: location.clone(), parts: Vec::new() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        sorted(self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        sorted(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await?;
        self.sync(to).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await?;
        self.sync(to).await
    }
}

/// A listing in the order of its paths.
fn sorted(listing: BoxStream<'static, Result<ObjectMeta>>) -> BoxStream<'static, Result<ObjectMeta>> {
    let entries = async move {
        let mut entries: Vec<ObjectMeta> = listing.try_collect().await?;
        entries.sort_by(|a, b| a.location.cmp(&b.location));
        Result::Ok(entries)
    };
    futures::stream::once(entries)
        .map_ok(|entries| futures::stream::iter(entries.into_iter().map(Ok)))
        .try_flatten()
        .boxed()
}

/// A file that comes in parts. They are kept until it is complete, so that it, too, gets its name once
/// it is whole; what is uploaded so (checkpoints) fits in memory anyway.
#[derive(Debug)]
struct Upload {
    store: DurableFs,
    location: Path,
    parts: Vec<Bytes>,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.parts.extend(data);
        Box::pin(std::future::ready(Ok(())))
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let payload = PutPayload::from_iter(self.parts.drain(..));
        self.store.write(&self.location, payload, false).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.parts.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;

    use super::*;

    type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

    async fn listed(store: &DurableFs) -> Result<Vec<String>> {
        store.list(None).map_ok(|meta| meta.location.to_string()).try_collect().await
    }

    /// The commit point: of two writers of one name the second is told, and the first's bytes stay.
    #[tokio::test]
    async fn create_fails_where_the_name_is_taken() -> Outcome {
        let folder = tempfile::tempdir()?;
        let store = DurableFs::open(&folder.path().join("a/b"))?;
        let at = Path::from("log/0.json");
        store.put_opts(&at, "first".into(), PutMode::Create.into()).await?;
        let second = store.put_opts(&at, "second".into(), PutMode::Create.into()).await;
        assert!(matches!(second, Err(object_store::Error::AlreadyExists { .. })), "{second:?}");
        assert_eq!(store.get(&at).await?.bytes().await?, "first");
        assert_eq!(listed(&store).await?, ["log/0.json"], "no temporary file is left");
        Ok(())
    }

    /// Overwriting, parts and renames give whole files; listings are in order, as the log needs.
    #[tokio::test]
    async fn writes_are_whole_and_listed_in_order() -> Outcome {
        let folder = tempfile::tempdir()?;
        let store = DurableFs::open(folder.path())?;
        for n in [3, 1, 2] {
            store.put(&Path::from(format!("log/{n}")), format!("{n}").into()).await?;
        }
        store.put(&Path::from("log/2"), "two".into()).await?;
        let mut upload = store.put_multipart(&Path::from("log/0")).await?;
        upload.put_part("ab".into()).await?;
        upload.put_part("cd".into()).await?;
        upload.complete().await?;
        store.rename(&Path::from("log/3"), &Path::from("log/4")).await?;
        assert_eq!(listed(&store).await?, ["log/0", "log/1", "log/2", "log/4"]);
        assert_eq!(store.get(&Path::from("log/0")).await?.bytes().await?, "abcd");
        assert_eq!(store.get(&Path::from("log/2")).await?.bytes().await?, "two");
        let after = store.list_with_offset(None, &Path::from("log/1"));
        let after: Vec<_> = after.map_ok(|m| m.location.to_string()).try_collect().await?;
        assert_eq!(after, ["log/2", "log/4"]);
        Ok(())
    }

    /// What a crash left under a temporary name goes away, what a living writer writes stays.
    #[tokio::test]
    async fn old_leftovers_are_swept() -> Outcome {
        let folder = tempfile::tempdir()?;
        let unnamed = folder.path().join(UNNAMED);
        fs::create_dir(&unnamed)?;
        fs::write(unnamed.join("young"), "x")?;
        let old = File::create(unnamed.join("old"))?;
        old.set_modified(std::time::SystemTime::now() - 2 * LEFTOVER)?;
        DurableFs::open(folder.path())?;
        assert!(unnamed.join("young").exists() && !unnamed.join("old").exists());
        Ok(())
    }
}
