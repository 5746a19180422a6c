// Package powercut cuts the power of a machine that fettle is fixing, once at
// each moment that matters, and looks at what is left.
//
// A kill leaves the kernel to write everything back; a power cut does not. So
// the members of an array and the file system with fettle's journal lie on
// one disk whose writes dm-log-writes records, in the order in which they
// became durable. Afterwards the disk is reconstructed as it was at each
// flush, the array is assembled, the file systems are mounted, and fettle
// resumes or undoes.
//
// Each member and the root count as a disk with a cache of its own: a flush of
// one says nothing about the others. What this does not show: disks that lie
// about flushes, and a write that overtakes an older one to the same sectors.
package powercut
