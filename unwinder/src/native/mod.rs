//! Native stacks: modules, their compiled call frame information, and the walk.
