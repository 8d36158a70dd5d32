int foreign_mpi(void);
int main(void) { return foreign_mpi(); }
