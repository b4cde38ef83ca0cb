//! How file and module names are printed.

use std::sync::Arc;

use crate::Frame;
use crate::frame::is_python_file;

/// How file and module names are printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileNames {
    /// Files as Python programmers know them, `package/module.py`: without the longest of these search paths
    /// (`sys.path`) they lie in. Files outside all of them lose everything up to the last `site-packages`,
    /// `dist-packages` or `lib/python3.N` and, where there is none, all but the last component (all but the last
    /// two for names that every package has, as `__init__.py`). Modules: the last component. The default.
    Short {
        /// Directories, absolute. Default is none.
        search_path: Vec<String>,
    },
    /// As the debug information, code objects and mappings have them (`--full-filenames`).
    Full,
}

impl Default for FileNames {
    fn default() -> Self {
        FileNames::Short { search_path: Vec::new() }
    }
}

impl FileNames {
    /// A frame with its names in their printed form.
    pub fn shown(&self, frame: &Frame) -> Frame {
        Frame {
            file: frame.file.as_ref().map(|file| self.file(file)),
            module: frame.module.as_ref().map(|module| self.module(module)),
            ..frame.clone()
        }
    }

    /// The printed form of a source file's name.
    fn file(&self, file: &Arc<str>) -> Arc<str> {
        match self {
            FileNames::Full => file.clone(),
            FileNames::Short { search_path } => short_file(file, search_path).into(),
        }
    }

    /// The printed form of a mapped file's name.
    fn module(&self, module: &Arc<str>) -> Arc<str> {
        match self {
            FileNames::Full => module.clone(),
            FileNames::Short { .. } => last_components(module, 1).into(),
        }
    }
}

fn short_file<'a>(file: &'a str, search_path: &[String]) -> &'a str {
    let below = |directory: &String| {
        let rest = file.strip_prefix(directory.trim_end_matches('/'))?.strip_prefix('/')?;
        (!rest.is_empty()).then_some(rest)
    };
    if let Some(shortest) = search_path.iter().filter_map(below).min_by_key(|rest| rest.len()) {
        return shortest;
    }
    below_library(file).unwrap_or_else(|| last_components(file, 1 + usize::from(is_common_name(file))))
}

/// The part of a Python file's name below the last library directory in it.
fn below_library(file: &str) -> Option<&str> {
    if !is_python_file(file) {
        return None;
    }
    let after = |marker: &str| file.rfind(marker).map(|at| at + marker.len());
    let packages = after("/site-packages/").max(after("/dist-packages/"));
    let library = after("/lib/python3.").and_then(|at| Some(at + file.get(at..)?.find('/')? + 1));
    file.get(packages.max(library)?..).filter(|rest| !rest.is_empty())
}

fn is_common_name(file: &str) -> bool {
    matches!(last_components(file, 1), "__init__.py" | "__main__.py" | "mod.rs" | "lib.rs" | "main.rs")
}

/// The last `count` components of a path.
fn last_components(path: &str, count: usize) -> &str {
    if path.starts_with('<') || path.starts_with('[') {
        return path; // `<frozen importlib._bootstrap>`, `<ipython/1>`, `[vdso]` are no paths.
    }
    let path = path.strip_suffix('/').unwrap_or(path);
    match path.rmatch_indices('/').nth(count - 1) {
        Some((at, _)) => &path[at + 1..],
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_files_are_named_from_their_package_on() {
        let names = FileNames::Short { search_path: vec!["/srv/app/".into(), "/srv/app/vendored".into()] };
        let cases = [
            ("/srv/app/jobs/train.py", "jobs/train.py"),
            ("/srv/app/vendored/six.py", "six.py"),
            ("/srv/application/x.py", "x.py"),
            ("/usr/lib/python3.11/asyncio/events.py", "asyncio/events.py"),
            ("/venv/lib/python3.11/site-packages/torch/nn/functional.py", "torch/nn/functional.py"),
            ("/elsewhere/train.py", "train.py"),
            ("/elsewhere/pkg/__init__.py", "pkg/__init__.py"),
            ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
            ("<doc/test>", "<doc/test>"),
            ("/build/redis/src/ae.c", "ae.c"),
            ("/lib/python3.", "python3."),
            ("", ""),
            ("/", ""),
        ];
        for (full, short) in cases {
            assert_eq!(&*names.file(&full.into()), short, "{full}");
            assert_eq!(&*FileNames::Full.file(&full.into()), full);
        }
        assert_eq!(&*names.module(&"/usr/lib/x86_64-linux-gnu/libc.so.6".into()), "libc.so.6");
        assert_eq!(&*names.module(&"[vdso]".into()), "[vdso]");
    }
}
