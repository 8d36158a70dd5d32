int foreign_mpi(void) { return 0; }
