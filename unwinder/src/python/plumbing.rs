//! Native functions of the interpreter that only carry a call from one Python function to the next.
//!
//! Between two Python frames they say nothing that the Python frames do not say, so the symbolizer hides them; what
//! does say something (`builtin_sorted`, `list_sort_impl`, `functools_reduce`, `_ctypes_callproc`, `take_gil`) is
//! not in here. Apply it to functions of the interpreter's own module only: other libraries may use these names.

/// Whether the function `name` of the interpreter's module is mere calling machinery. A suffix that the
/// compiler added (`.cold`, `.isra.0`, `.constprop.0`, `.part.0`, `.lto_priv.0`) does not count.
pub fn is_plumbing(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or(name);
    base.starts_with("_TAIL_CALL_") || PLUMBING.binary_search(&base).is_ok()
}

/// Sorted. From `Python/ceval.c`, `Objects/call.c`, `Objects/descrobject.c`, `Objects/methodobject.c`,
/// `Objects/classobject.c`, `Objects/genobject.c`,
/// `Objects/object.c`, `Objects/typeobject.c` and `Python/pythonrun.c`, 3.6 to 3.15.
const PLUMBING: &[&str] = &[
    "PyCFunction_Call",
    "PyEval_CallObjectWithKeywords",
    "PyEval_EvalCode",
    "PyEval_EvalCodeEx",
    "PyEval_EvalFrame",
    "PyEval_EvalFrameEx",
    "PyGen_am_send",
    "PyObject_Call",
    "PyObject_CallFunction",
    "PyObject_CallFunctionObjArgs",
    "PyObject_CallMethod",
    "PyObject_CallMethodObjArgs",
    "PyObject_CallNoArgs",
    "PyObject_CallObject",
    "PyObject_CallOneArg",
    "PyObject_GenericGetAttr",
    "PyObject_GetAttr",
    "PyObject_Vectorcall",
    "PyObject_VectorcallMethod",
    "PyVectorcall_Call",
    "_PyCFunction_FastCallDict",
    "_PyCFunction_FastCallKeywords",
    "_PyEval_EvalCode",
    "_PyEval_EvalCodeWithName",
    "_PyEval_EvalFrame",
    "_PyEval_EvalFrameDefault",
    "_PyEval_MakeFrameVector",
    "_PyEval_Vector",
    "_PyFunction_FastCall",
    "_PyFunction_FastCallDict",
    "_PyFunction_FastCallKeywords",
    "_PyFunction_Vectorcall",
    "_PyMethodDef_RawFastCallDict",
    "_PyMethodDef_RawFastCallKeywords",
    "_PyMethodDescr_FastCallKeywords",
    "_PyMethodDescr_Vectorcall",
    "_PyObject_Call",
    "_PyObject_CallFunctionVa",
    "_PyObject_CallFunction_SizeT",
    "_PyObject_CallMethod",
    "_PyObject_CallMethodIdObjArgs",
    "_PyObject_CallMethodNoArgs",
    "_PyObject_CallMethod_SizeT",
    "_PyObject_CallNoArgs",
    "_PyObject_CallNoArgsTstate",
    "_PyObject_Call_Prepend",
    "_PyObject_FastCallDict",
    "_PyObject_FastCallDictTstate",
    "_PyObject_FastCallKeywords",
    "_PyObject_FastCallTstate",
    "_PyObject_FastCall_Prepend",
    "_PyObject_GenericGetAttrWithDict",
    "_PyObject_MakeTpCall",
    "_PyObject_Vectorcall",
    "_PyObject_VectorcallDictTstate",
    "_PyObject_VectorcallTstate",
    "_PyVectorcall_Call",
    "_Py_HandlePending",
    "call_function",
    "call_method",
    "call_unbound",
    "call_unbound_noarg",
    "cfunction_call",
    "cfunction_call_varargs",
    "cfunction_vectorcall_FASTCALL",
    "cfunction_vectorcall_FASTCALL_KEYWORDS",
    "cfunction_vectorcall_NOARGS",
    "cfunction_vectorcall_O",
    "classmethoddescr_call",
    "do_call",
    "do_call_core",
    "fast_function",
    "function_call",
    "function_code_fastcall",
    "gen_iternext",
    "gen_send_ex",
    "gen_send_ex2",
    "method_call",
    "method_vectorcall",
    "method_vectorcall_FASTCALL",
    "method_vectorcall_FASTCALL_KEYWORDS",
    "method_vectorcall_FASTCALL_KEYWORDS_METHOD",
    "method_vectorcall_NOARGS",
    "method_vectorcall_O",
    "method_vectorcall_VARARGS",
    "method_vectorcall_VARARGS_KEYWORDS",
    "methoddescr_call",
    "object_vacall",
    "run_eval_code_obj",
    "slot_tp_call",
    "slot_tp_init",
    "trace_call_function",
    "type_call",
    "vectorcall_maybe",
    "vectorcall_method",
    "vectorcall_unbound",
    "wrap_call",
    "wrapperdescr_call",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(PLUMBING.is_sorted());
    }

    #[test]
    fn machinery_is_told_from_work() {
        for name in [
            "_PyEval_EvalFrameDefault",
            "_PyEval_EvalFrameDefault.cold",
            "call_function",
            "_TAIL_CALL_FOR_ITER",
        ] {
            assert!(is_plumbing(name), "{name}");
        }
        for name in
            ["builtin_sorted", "list_sort_impl", "functools_reduce", "take_gil", "PyEval_RestoreThread"]
        {
            assert!(!is_plumbing(name), "{name}");
        }
    }
}
