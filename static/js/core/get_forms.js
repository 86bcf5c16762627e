// Forms that become an address: fields that were left empty are not part of it.

/** For all forms of the page, also for those that are added later. */
export function leaveOutEmptyFields() {
  addEventListener("formdata", ({ target, formData }) => {
    if (!(target instanceof HTMLFormElement) || target.getAttribute("method") !== "get") return;
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });
}
