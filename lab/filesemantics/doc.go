// Package filesemantics tries what happens to names, open files and their
// blocks when a file is renamed, deleted, replaced or truncated while a
// program has it open. A trap's test tries this on the machine's own file
// systems, the experiment file-semantics on each that a lab kernel has.
package filesemantics
