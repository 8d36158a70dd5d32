// SPDX-License-Identifier: Apache-2.0
/* A parallel HDF5 program: all ranks create datasets in one file, and write and read them
 * collectively and independently. Prints what the file holds in the end.
 *
 * usage: parallel_hdf5 [SHARING [FILE]]: the value of the hint impishim_file_sharing, and a file
 * that is kept */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kRows = 6, kColumns = 50 };

static void require(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "parallel_hdf5: failed: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 99);
}

/* A rank's rows of a dataset: those whose number is its rank, modulo the number of ranks. */
static void select_rows(hid_t space, int rank, int size) {
  const hsize_t start[2] = {(hsize_t)rank, 0};
  const hsize_t stride[2] = {(hsize_t)size, 1};
  const hsize_t count[2] = {kRows, kColumns};
  require(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0, "selection");
}

static void fill(double* rows, int rank, int size) {
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column)
      rows[row * kColumns + column] = (row * size + rank) * 1000.0 + column;
  }
}

static hid_t transfer_by(H5FD_mpio_xfer_t how) {
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  require(H5Pset_dxpl_mpio(transfer, how) >= 0, "transfer");
  return transfer;
}

/* Writes a dataset by rows of all ranks, and reads the rows of the next rank. */
static void write_and_read(hid_t file, const char* name, H5FD_mpio_xfer_t how) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const hsize_t whole[2] = {(hsize_t)(kRows * size), kColumns};
  const hsize_t mine[2] = {kRows, kColumns};
  const hid_t space = H5Screate_simple(2, whole, NULL);
  const hid_t memory = H5Screate_simple(2, mine, NULL);
  const hid_t data =
      H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t transfer = transfer_by(how);
  double* rows = calloc(kRows * kColumns, sizeof *rows);
  double* expected = calloc(kRows * kColumns, sizeof *expected);
  fill(rows, rank, size);
  select_rows(space, rank, size);
  require(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, rows) >= 0, "write");
  require(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "flush");
  MPI_Barrier(MPI_COMM_WORLD);
  const int next = (rank + 1) % size;
  fill(expected, next, size);
  select_rows(space, next, size);
  require(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, transfer, rows) >= 0, "read");
  for (int i = 0; i < kRows * kColumns; ++i)
    require(rows[i] == expected[i], "a value that was read");
  free(rows);
  free(expected);
  H5Pclose(transfer);
  H5Dclose(data);
  H5Sclose(memory);
  H5Sclose(space);
}

static hid_t access_to(MPI_Info hints) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  require(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, hints) >= 0, "access by MPI");
  return access;
}

/* The sum of a dataset, read by rank 0 from the file that all have closed. */
static double sum_of(hid_t file, const char* name, int size) {
  const hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
  double* all = calloc((size_t)kRows * (size_t)size * kColumns, sizeof *all);
  double sum = 0;
  require(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0, "whole read");
  for (int i = 0; i < kRows * size * kColumns; ++i) sum += all[i];
  free(all);
  H5Dclose(data);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[256] = "";
  if (argc > 2) {
    snprintf(name, sizeof name, "%s", argv[2]);
  } else if (rank == 0) {
    const char* folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/impishim-%ld-%.0f.h5", folder == NULL ? "/tmp" : folder,
             (long)getpid(), MPI_Wtime() * 1e6);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Info hints;
  MPI_Info_create(&hints);
  if (argc > 1) MPI_Info_set(hints, "impishim_file_sharing", argv[1]);
  const hid_t access = access_to(hints);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  require(file >= 0, "create");
  write_and_read(file, "together", H5FD_MPIO_COLLECTIVE);
  write_and_read(file, "alone", H5FD_MPIO_INDEPENDENT);
  require(H5Fclose(file) >= 0, "close");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    require(file >= 0, "open without MPI");
    printf("HDF5 on %d ranks: sums %.0f, %.0f\n", size, sum_of(file, "together", size),
           sum_of(file, "alone", size));
    H5Fclose(file);
    if (argc <= 2) remove(name);
  }
  H5Pclose(access);
  MPI_Info_free(&hints);
  MPI_Finalize();
  return 0;
}
