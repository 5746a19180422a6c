// Package powercut cuts the power of a machine that fettle is mending, as
// often as there are moments that matter, and looks at what is left.
//
// A kill leaves the kernel to write everything back; a power cut does not. So
// the members of an array and the file system with fettle's journal lie on
// one disk whose writes dm-log-writes records, in the order in which they
// became durable. Afterwards the disk is put together again as it was at each
// flush, the array is assembled, the file systems are mounted, and fettle
// resumes or undoes.
//
// What this does not show: all members share the disk's one write cache, so a
// flush of one is a flush of all. Disks with caches of their own can lose
// more at a time.
package powercut
