//! Interned frames and stacks.
//!
//! A stack is a node of a tree whose path from the root is its frames, so that a thousand stacks that share
//! their outer frames share their nodes:
//!
//! ```text
//!     main ── train ── embed ── gather      StackId of main;train;embed;gather
//!                └──── save                 StackId of main;train;save
//! ```

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Index of an interned frame in the [`Interner`] that gave it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FrameId(pub u32);

/// Index of an interned stack in the [`StackTable`] that gave it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StackId(u32);

impl StackId {
    /// The stack without frames.
    pub const EMPTY: StackId = StackId(0);

    /// Position in the table, for side tables indexed by stack.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Gives equal values equal small ids.
#[derive(Clone, Debug)]
pub struct Interner<T> {
    values: Vec<T>,
    ids: FxHashMap<T, FrameId>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: Vec::new(), ids: FxHashMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// The id of `value`, new or known.
    pub fn intern(&mut self, value: T) -> FrameId {
        if let Some(&id) = self.ids.get(&value) {
            return id;
        }
        let id = FrameId(self.values.len() as u32);
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    /// All values; a `FrameId`'s number is its place here.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The value behind an id that this interner gave.
    pub fn get(&self, id: FrameId) -> &T {
        &self.values[id.0 as usize]
    }
}

/// The tree of all stacks seen.
#[derive(Clone, Debug)]
pub struct StackTable {
    /// Parent and last frame of each stack; entry 0 is the empty stack and is never looked at.
    nodes: Vec<(StackId, FrameId)>,
    children: FxHashMap<(StackId, FrameId), StackId>,
}

impl Default for StackTable {
    fn default() -> Self {
        StackTable { nodes: vec![(StackId::EMPTY, FrameId(u32::MAX))], children: FxHashMap::default() }
    }
}

impl StackTable {
    /// The stack `parent` with `frame` called from its last frame.
    pub fn push(&mut self, parent: StackId, frame: FrameId) -> StackId {
        *self.children.entry((parent, frame)).or_insert_with(|| {
            let id = StackId(self.nodes.len() as u32);
            self.nodes.push((parent, frame));
            id
        })
    }

    /// Interns a whole stack given from root to leaf.
    pub fn intern(&mut self, root_to_leaf: impl IntoIterator<Item = FrameId>) -> StackId {
        root_to_leaf.into_iter().fold(StackId::EMPTY, |stack, frame| self.push(stack, frame))
    }

    /// Parent stack and last frame; `None` for the empty stack.
    pub fn last(&self, stack: StackId) -> Option<(StackId, FrameId)> {
        (stack != StackId::EMPTY).then(|| self.nodes[stack.index()])
    }

    /// The frames from leaf to root.
    pub fn leaf_to_root(&self, stack: StackId) -> impl Iterator<Item = FrameId> + '_ {
        let mut at = stack;
        std::iter::from_fn(move || {
            let (parent, frame) = self.last(at)?;
            at = parent;
            Some(frame)
        })
    }

    /// The frames from root to leaf.
    pub fn root_to_leaf(&self, stack: StackId) -> Vec<FrameId> {
        let mut frames: Vec<_> = self.leaf_to_root(stack).collect();
        frames.reverse();
        frames
    }

    /// Number of stacks, the empty one included; every `StackId::index` is below it.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Parent and last frame of the stacks whose index is `index` or more, in order: a parent comes before its children.
    pub fn nodes_from(&self, index: usize) -> &[(StackId, FrameId)] {
        self.nodes.get(index.max(1)..).unwrap_or_default()
    }

    /// Whether only the empty stack is known.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }
}
