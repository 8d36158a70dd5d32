// SPDX-License-Identifier: Apache-2.0
/* The code, which is none, of two libraries for programs that open the MPI library by dlopen() and
 * look its functions up by that handle. LD_PRELOAD does not reach these.
 *
 * The first has the vendor's name and needs this library first, and then the second. The second is
 * a filter of the vendor's library, which it names by its path: the vendor's own name would lead
 * back to the first. So the handle finds this library's definitions, and what it does not define in
 * the vendor's library. */
typedef int impishim_no_code;
