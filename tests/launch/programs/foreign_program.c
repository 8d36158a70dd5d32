// SPDX-License-Identifier: Apache-2.0
int foreign_mpi(void);
int main(void) { return foreign_mpi(); }
