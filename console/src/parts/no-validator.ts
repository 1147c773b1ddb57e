/** Stands in for a validator that the form library names and never uses here. */
export default undefined;
