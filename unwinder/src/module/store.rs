//! The recording-wide table of modules.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::{Module, ModuleError, ModuleSource};
use crate::ModuleId;
use crate::symbolize::{self, ModuleFiles};

/// What tells a file's content from others' where there is no build id: its device and inode, or any other two
/// numbers that the caller chooses. Files with equal keys are taken to be equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ContentKey(pub u64, pub u64);

/// An ELF file to load.
#[derive(Debug)]
pub struct ModuleFile {
    /// The path as the target sees it; only shown, never opened.
    pub path: String,
    /// The content.
    pub source: ModuleSource,
    /// What identifies the content.
    pub key: ContentKey,
    /// The target's root directory as we can reach it (`/proc/PID/root`), when it is not our own: where the
    /// symbolizer looks for separate debug files.
    pub debug_root: Option<PathBuf>,
}

/// All modules of a recording. A file mapped by many processes is one module.
#[derive(Debug, Default)]
pub struct ModuleStore {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    modules: Vec<Arc<Module>>,
    by_build_id: FxHashMap<Vec<u8>, ModuleId>,
    by_key: FxHashMap<ContentKey, ModuleId>,
}

impl ModuleStore {
    /// A store without modules.
    pub fn new() -> Self {
        ModuleStore::default()
    }

    /// The module loaded with this key before, so that the caller need not open the file again.
    pub fn by_key(&self, key: ContentKey) -> Option<ModuleId> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).by_key.get(&key).copied()
    }

    /// Loads a module, or finds the one with the same key or build id. The first file loaded with a build id
    /// is the one kept.
    pub fn load(&self, file: ModuleFile) -> Result<ModuleId, ModuleError> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let key = file.key;
        if let Some(&known) = inner.by_key.get(&key) {
            return Ok(known);
        }
        let next = u32::try_from(inner.modules.len()).map(ModuleId).map_err(|_| ModuleError::Malformed {
            what: "number of modules",
            value: inner.modules.len() as u64,
        })?;
        let module = Module::open(next, file)?;
        let known = module.build_id().and_then(|build_id| inner.by_build_id.get(build_id).copied());
        let id = known.unwrap_or(next);
        inner.by_key.insert(key, id);
        if known.is_none() {
            if let Some(build_id) = module.build_id() {
                inner.by_build_id.insert(build_id.to_vec(), id);
            }
            inner.modules.push(Arc::new(module));
        }
        Ok(id)
    }

    /// The module behind an id; `None` for an id of another store.
    pub fn get(&self, id: ModuleId) -> Option<Arc<Module>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).modules.get(id.0 as usize).cloned()
    }

    /// All modules, by id.
    pub fn modules(&self) -> Vec<Arc<Module>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).modules.clone()
    }
}

impl ModuleFiles for ModuleStore {
    fn module_file(&self, id: ModuleId) -> Option<symbolize::ModuleFile> {
        let module = self.get(id)?;
        Some(symbolize::ModuleFile {
            path: module.path().into(),
            content: module.content(),
            target_root: module.debug_root().unwrap_or(Path::new("/")).to_owned(),
        })
    }
}
