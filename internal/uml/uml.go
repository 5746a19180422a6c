// Package uml helps User-Mode Linux kernels to start on processors that are younger than they.
package uml

import "golang.org/x/sys/cpu"

// compiler makes what a kernel needs on some processors (NeedsCompiler).
const compiler = "/usr/bin/cc"

// NeedsCompiler reports whether kernels before 6.13 need help here: AMX's tiles make what
// XSAVE stores of a process larger than they have room for (arch/x86/um/user-offsets.c).
// The first process of such a kernel ends in "ptrace set fp regs failed, errno = 14".
func NeedsCompiler() bool { return cpu.X86.HasAMXTile }
